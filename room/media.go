package room

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/webrtc/v4"

	"parley/room/rtc"
)

// iceTimes find out that a participant's network is gone within seconds, not half a minute.
const (
	iceDisconnected = 4 * time.Second
	iceFailed       = 8 * time.Second
	iceKeepalive    = 2 * time.Second
)

// media makes the peer connections of a server. All of them share one UDP port and one TCP port.
type media struct {
	api *webrtc.API
	udp []net.PacketConn
	mux ice.UDPMux
	tcp ice.TCPMux
}

// newMedia binds the UDP side of the TCP listener's address and serves ICE over TCP from tcp.
func newMedia(o Options, at *net.TCPAddr, tcp net.Listener) (*media, error) {
	m := &media{}
	ips := []net.IP{at.IP}
	if at.IP.IsUnspecified() {
		var err error
		if ips, err = localIPs(at.IP.To4() != nil); err != nil {
			return nil, err
		}
	}
	quiet := rtc.Logs{Log: o.Log}
	var muxes []ice.UDPMux
	for _, ip := range ips {
		c, err := net.ListenUDP("udp", &net.UDPAddr{IP: ip, Port: at.Port, Zone: at.Zone})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("room: the sound's UDP port: %w", err), m.close())
		}
		socket := withFaults(c, o.Faults)
		m.udp = append(m.udp, socket)
		muxes = append(muxes, ice.NewUDPMuxDefault(ice.UDPMuxParams{UDPConn: socket, Logger: quiet.NewLogger("udp")}))
	}
	m.mux = ice.NewMultiUDPMuxDefault(muxes...)
	m.tcp = ice.NewTCPMuxDefault(ice.TCPMuxParams{
		Listener: tcp, Logger: quiet.NewLogger("tcp"), ReadBufferSize: 64,
		WriteBufferSize: 1 << 20, FirstStunBindTimeout: joinWithin, AliveDurationForConnFromStun: joinWithin,
	})

	var s webrtc.SettingEngine
	s.LoggerFactory = quiet
	// Lite: the room answers connectivity checks and makes none, so nobody can have it send packets to an address of
	// their choice; and there are no candidates of participants to handle.
	s.SetLite(true)
	s.SetICEUDPMux(m.mux)
	s.SetICETCPMux(m.tcp)
	s.SetNetworkTypes([]webrtc.NetworkType{
		webrtc.NetworkTypeUDP4, webrtc.NetworkTypeUDP6, webrtc.NetworkTypeTCP4, webrtc.NetworkTypeTCP6,
	})
	s.SetIncludeLoopbackCandidate(true)
	s.SetIPFilter(func(ip net.IP) bool {
		for _, own := range ips {
			if own.Equal(ip) {
				return true
			}
		}
		return false
	})
	s.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	s.SetICETimeouts(iceDisconnected, iceFailed, iceKeepalive)
	if len(o.PublicIPs) > 0 {
		outside := make([]string, len(o.PublicIPs))
		for i, ip := range o.PublicIPs {
			outside[i] = ip.String()
		}
		rule := webrtc.ICEAddressRewriteRule{
			External: outside, AsCandidateType: webrtc.ICECandidateTypeHost, Mode: webrtc.ICEAddressRewriteAppend,
		}
		if err := s.SetICEAddressRewriteRules(rule); err != nil {
			return nil, errors.Join(fmt.Errorf("room: public addresses: %w", err), m.close())
		}
	}

	var err error
	if m.api, err = rtc.NewAPI(s); err != nil {
		return nil, errors.Join(fmt.Errorf("room: %w", err), m.close())
	}
	return m, nil
}

func (m *media) close() error {
	var errs []error
	if m.mux != nil {
		errs = append(errs, m.mux.Close())
	}
	if m.tcp != nil {
		errs = append(errs, m.tcp.Close())
	}
	for _, c := range m.udp {
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// localIPs are the addresses of this machine at which others, or its own browsers, reach it.
func localIPs(only4 bool) ([]net.IP, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("room: the machine's addresses: %w", err)
	}
	var ips []net.IP
	for _, a := range addrs {
		n, ok := a.(*net.IPNet)
		if !ok || n.IP.IsLinkLocalUnicast() || n.IP.IsMulticast() || only4 && n.IP.To4() == nil {
			continue
		}
		ips = append(ips, n.IP)
	}
	if len(ips) == 0 {
		return nil, errors.New("room: this machine has no address to listen on")
	}
	return ips, nil
}
