package room

import (
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Faults makes the sound's UDP port behave like a bad network, for tests of those who are to cope with one. It does
// nothing to sound over TCP and to the signalling.
type Faults struct {
	// Loss is the part of the packets, 0 to 1, that is lost in each direction.
	Loss float64
	// Delay is how long every packet takes on its way out, Jitter by how much more at most. With jitter, packets
	// overtake each other.
	Delay, Jitter time.Duration
	// Seed makes two runs lose the same packets, if these come in the same order.
	Seed uint64
}

// maxDelayed bounds the packets under way; what comes beyond is lost.
const maxDelayed = 4096

// badNetwork is a socket with faults.
type badNetwork struct {
	net.PacketConn
	f Faults

	mu     sync.Mutex
	random *rand.Rand
	closed bool
	under  int
	work   sync.WaitGroup
}

func withFaults(c net.PacketConn, f Faults) net.PacketConn {
	if f == (Faults{}) {
		return c
	}
	return &badNetwork{PacketConn: c, f: f, random: rand.New(rand.NewPCG(f.Seed, 0))}
}

// fate decides over one packet.
func (b *badNetwork) fate() (lost bool, delay time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	lost = b.random.Float64() < b.f.Loss
	delay = b.f.Delay + time.Duration(b.random.Float64()*float64(b.f.Jitter))
	return lost, delay
}

// ReadFrom reads the next packet that is not lost.
func (b *badNetwork) ReadFrom(p []byte) (int, net.Addr, error) {
	for {
		n, addr, err := b.PacketConn.ReadFrom(p)
		if err != nil {
			return n, addr, err
		}
		if lost, _ := b.fate(); !lost {
			return n, addr, nil
		}
	}
}

// WriteTo sends a packet, later or never.
func (b *badNetwork) WriteTo(p []byte, addr net.Addr) (int, error) {
	lost, delay := b.fate()
	if lost {
		return len(p), nil
	}
	if delay == 0 {
		return b.PacketConn.WriteTo(p, addr)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.under >= maxDelayed {
		return len(p), nil
	}
	b.under++
	b.work.Add(1)
	data := append([]byte(nil), p...)
	time.AfterFunc(delay, func() {
		defer b.work.Done()
		b.mu.Lock()
		b.under--
		closed := b.closed
		b.mu.Unlock()
		if !closed {
			_, _ = b.PacketConn.WriteTo(data, addr) // a packet that cannot be sent is lost like the others
		}
	})
	return len(p), nil
}

// Close closes the socket and waits for what is under way.
func (b *badNetwork) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	err := b.PacketConn.Close()
	b.work.Wait()
	return err
}
