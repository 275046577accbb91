package spawn

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Cage is what the kernel keeps a child from. It is put on the thread that forks, from where the child inherits it for
// good; that thread does nothing else.
type Cage struct {
	// Network is none, unix (private sockets only), or empty for all.
	Network string
	// Files bars every file but the system's own, Read and Write.
	Files       bool
	Read, Write []string
}

// Level says how much of a cage this machine's kernel can hold.
type Level struct {
	// Landlock is its version; 0: there is none. Seccomp tells whether system calls can be filtered.
	Landlock int
	Seccomp  bool
}

var level = sync.OnceValue(func() Level {
	var l Level
	if v, _, e := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION); e == 0 {
		l.Landlock = int(v)
	}
	// With no program the kernel answers EFAULT where it knows the mode, and EINVAL where it does not.
	_, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, 0)
	l.Seccomp = e == unix.EFAULT
	return l
})

// Kernel tells what this machine can hold.
func Kernel() Level { return level() }

// cageOf is the cage of a kind; false: it has none.
func cageOf(kind Kind) (Cage, bool) {
	def := programs[kind]
	if def == nil || def.Network == "" && !def.FilesOnly {
		return Cage{}, false
	}
	return Cage{Network: def.Network, Files: def.FilesOnly}, true
}

// enter puts the calling thread into the cage, for good. What the kernel does not know is left out: Kernel tells.
func (c Cage) enter() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	l := level()
	if l.Landlock > 0 {
		if err := c.landlock(l.Landlock); err != nil {
			return fmt.Errorf("landlock: %w", err)
		}
	}
	if l.Seccomp {
		if err := c.seccomp(); err != nil {
			return fmt.Errorf("seccomp: %w", err)
		}
	}
	return nil
}

// Rights over files, by the version that brought them.
const (
	readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	allRights1 = unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1
)

// systemPaths are what a program needs to start at all. None of them holds anything of a tenant.
var systemPaths = []string{"/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt", "/nix/store", "/gnu/store", "/etc/ld.so.cache", "/etc/ld.so.conf",
	"/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/localtime", "/etc/fonts", "/etc/alternatives", "/etc/ssl/openssl.cnf", "/dev/urandom", "/dev/random",
	"/proc/cpuinfo", "/sys/devices/system/cpu"}

// sinks may be written as well: they keep nothing.
var sinks = []string{"/dev/null", "/dev/zero"}

func (c Cage) landlock(version int) error {
	attr := unix.LandlockRulesetAttr{}
	if c.Files {
		attr.Handled_access_fs = allRights1
		if version >= 2 {
			attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
		}
		if version >= 3 {
			attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
		}
		if version >= 5 {
			attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
		}
	}
	if c.Network != "" && version >= 4 {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if c.Files && version >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	if attr.Handled_access_fs|attr.Handled_access_net|attr.Scoped == 0 {
		return nil
	}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if version >= 4 {
		size += unsafe.Sizeof(attr.Handled_access_net)
	}
	if version >= 6 {
		size += unsafe.Sizeof(attr.Scoped)
	}
	fd, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if e != 0 {
		return e
	}
	defer unix.Close(int(fd))
	if c.Files {
		for _, set := range []struct {
			paths  []string
			rights uint64
		}{{systemPaths, readRights}, {sinks, fileRights}, {c.Read, readRights}, {c.Write, attr.Handled_access_fs}} {
			for _, path := range set.paths {
				if err := allow(int(fd), path, set.rights&attr.Handled_access_fs); err != nil {
					return fmt.Errorf("%s: %w", filepath.Base(path), err)
				}
			}
		}
	}
	if _, _, e := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); e != 0 {
		return e
	}
	return nil
}

// allow gives rights below a path; one that does not exist needs none.
func allow(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	if _, _, e := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); e != 0 {
		return e
	}
	return nil
}

// seccomp refuses sockets that lead off the machine (or all), and system calls by which a process leaves its place.
func (c Cage) seccomp() error {
	const (
		nrOffset, archOffset, arg0Offset = 0, 4, 16
		allowed                          = 0x7fff0000
		refused                          = 0x00050000 | uint32(unix.EPERM)
		noFamily                         = 0x00050000 | uint32(unix.EAFNOSUPPORT)
	)
	if arch == 0 {
		return nil
	}
	p := []bpf.Instruction{
		bpf.LoadAbsolute{Off: archOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		bpf.RetConstant{Val: refused}, // another architecture's calls have other numbers
		bpf.LoadAbsolute{Off: nrOffset, Size: 4},
	}
	for _, nr := range leaving {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(nr), SkipTrue: 1}, bpf.RetConstant{Val: refused})
	}
	if arch == archX86 {
		// The x32 calls share the architecture and have numbers of their own.
		p = append(p, bpf.JumpIf{Cond: bpf.JumpLessThan, Val: 0x40000000, SkipTrue: 1}, bpf.RetConstant{Val: refused})
	}
	switch c.Network {
	case "none":
		p = append(p, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(unix.SYS_SOCKET), SkipTrue: 1}, bpf.RetConstant{Val: noFamily})
	case "unix":
		p = append(p, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(unix.SYS_SOCKET), SkipTrue: 3},
			bpf.LoadAbsolute{Off: arg0Offset, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNIX, SkipTrue: 1}, bpf.RetConstant{Val: noFamily})
	}
	p = append(p, bpf.RetConstant{Val: allowed})
	raw, err := bpf.Assemble(p)
	if err != nil {
		return err
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); e != 0 {
		return e
	}
	return nil
}

// leaving are calls that no child of ours needs and that lead out of its place: into other processes, other namespaces
// or the kernel.
var leaving = []uintptr{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT,
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_CHROOT, unix.SYS_SWAPON, unix.SYS_REBOOT, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_KEXEC_LOAD, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_PIDFD_GETFD, unix.SYS_QUOTACTL, unix.SYS_ACCT, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME,
}

const (
	archX86 = 0xc000003e
	archARM = 0xc00000b7
)
