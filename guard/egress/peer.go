package egress

import (
	"bufio"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// ours tells whether the process at the other end belongs to the user the proxy is for.
func (p *Proxy) ours(remote string) bool {
	if p.o.UID == nil {
		return true
	}
	a, err := netip.ParseAddrPort(remote)
	if err != nil || !a.Addr().Is4() {
		return false
	}
	uid, ok := ownerOf(a, p.port)
	return ok && uid == *p.o.UID
}

// ownerOf looks up whose a local connection is, in the kernel's table of sockets.
func ownerOf(from netip.AddrPort, to int) (uid int, ok bool) {
	f, err := os.Open("/proc/net/tcp")
	if err != nil {
		return 0, false
	}
	defer f.Close()
	b := from.Addr().As4()
	want := strings.ToUpper(digits(uint32(b[3])<<24|uint32(b[2])<<16|uint32(b[1])<<8|uint32(b[0]), 8) + ":" + digits(uint32(from.Port()), 4))
	port := ":" + strings.ToUpper(digits(uint32(to), 4))
	for sc := bufio.NewScanner(f); sc.Scan(); {
		fields := strings.Fields(sc.Text())
		if len(fields) > 7 && fields[1] == want && strings.HasSuffix(fields[2], port) {
			uid, err := strconv.Atoi(fields[7])
			return uid, err == nil
		}
	}
	return 0, false
}

func digits(v uint32, width int) string {
	s := strconv.FormatUint(uint64(v), 16)
	return strings.Repeat("0", width-len(s)) + s
}
