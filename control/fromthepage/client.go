// Package fromthepage is a second client of the control endpoint, written from docs/control.md alone: it shares no code with the first, so that the page stays enough.
package fromthepage

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/mlkem"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cloudflare/circl/sign/mldsa/mldsa87"
	"golang.org/x/sys/unix"
)

const (
	protocol    = "parley-control-1"
	routeAsk    = "/control/v1/challenge"
	routeAction = "/control/v1/action"
)

// Connection is what the connection file says, opened.
type Connection struct {
	address    string
	instance   []byte
	principal  string
	generation uint64
	ed, pq     []byte
	capability []byte
}

// Open reads a connection file by the page's rules.
func Open(path string) (*Connection, error) {
	raw, err := protected(path)
	if err != nil {
		return nil, err
	}
	var f struct {
		Format, Protocol, Address, Principal, Generation, Key string
		Instance, Ed25519, MLDSA87, Sealed                    []byte
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	if f.Format != "parley-control-sealed-v1" || f.Protocol != protocol {
		return nil, errors.New("another format")
	}
	at, err := netip.ParseAddrPort(f.Address)
	if err != nil || at.Port() == 0 || at.String() != f.Address || at.Addr() != netip.MustParseAddr("127.0.0.1") && at.Addr() != netip.MustParseAddr("::1") {
		return nil, errors.New("not a literal loopback address")
	}
	generation, err := strconv.ParseUint(f.Generation, 10, 64)
	if err != nil || len(f.Instance) != 16 || len(f.Ed25519) != 32 || len(f.MLDSA87) != 2592 || len(f.Sealed) != 12+48+16 {
		return nil, errors.New("sizes")
	}
	key, err := sealingKey(f.Key)
	if err != nil {
		return nil, err
	}
	var bound []byte
	for _, b := range [][]byte{[]byte(f.Format), []byte(f.Protocol), []byte(f.Address), f.Instance, []byte(f.Principal), u64(generation), f.Ed25519, f.MLDSA87, []byte(f.Key), u64(uint64(os.Geteuid()))} {
		bound = append(binary.BigEndian.AppendUint32(bound, uint32(len(b))), b...)
	}
	capability, err := gcm(key).Open(nil, f.Sealed[:12], f.Sealed[12:], bound)
	if err != nil {
		return nil, errors.New("the capability does not open: pair anew")
	}
	return &Connection{f.Address, f.Instance, f.Principal, generation, f.Ed25519, f.MLDSA87, capability}, nil
}

// protected reads a file that belongs to this account alone, as its folder does.
func protected(path string) ([]byte, error) {
	for _, p := range []string{filepath.Dir(path), path} {
		info, err := os.Lstat(p)
		if err != nil {
			return nil, err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || info.Mode()&os.ModeSymlink != 0 || info.Mode().Perm()&0o077 != 0 || int(st.Uid) != os.Geteuid() || !info.IsDir() && st.Nlink > 1 {
			return nil, fmt.Errorf("%s is not this account's alone", p)
		}
	}
	return os.ReadFile(path)
}

func sealingKey(place string) ([]byte, error) {
	var raw []byte
	var err error
	if path, ok := strings.CutPrefix(place, "files:"); ok {
		raw, err = protected(path)
	} else if description, ok := strings.CutPrefix(place, "kernel:"); ok {
		var id, n int
		if id, err = unix.KeyctlSearch(unix.KEY_SPEC_USER_KEYRING, "user", description, 0); err != nil {
			return nil, err
		}
		raw = make([]byte, 4096)
		if n, err = unix.KeyctlBuffer(unix.KEYCTL_READ, id, raw, 0); err == nil {
			raw = raw[:min(n, len(raw))]
		}
	} else {
		err = errors.New("another place")
	}
	if err != nil {
		return nil, err
	}
	const magic = "parley-key-v1\n"
	if len(raw) != len(magic)+8+32 || string(raw[:len(magic)]) != magic {
		return nil, errors.New("no key")
	}
	return raw[len(magic)+8:], nil
}

func u64(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }

func gcm(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // keys have 32 bytes here
	}
	a, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return a
}

func canon(label string, fields ...[]byte) (out []byte) {
	for _, f := range append([][]byte{[]byte(protocol + " " + label)}, fields...) {
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(f))), f...)
	}
	return out
}

func (c *Connection) principalBytes() []byte {
	return append(append([]byte{byte(len(c.principal))}, c.principal...), u64(c.generation)...)
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return b
}

// post sends one of the two requests with its proof.
func (c *Connection) post(ctx context.Context, route string, body []byte) ([]byte, error) {
	at, nonce, digest := u64(uint64(time.Now().UnixMilli())), random(24), sha512.Sum384(body)
	h := hmac.New(sha512.New384, c.capability)
	h.Write(canon("proof", c.instance, []byte(route), []byte(c.principal), u64(c.generation), at, nonce, digest[:]))
	proof := bytes.Join([][]byte{{1}, c.principalBytes(), at, nonce, h.Sum(nil)}, nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.address+route, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Parley-Control", base64.RawURLEncoding.EncodeToString(proof))
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(io.LimitReader(resp.Body, 3<<20))
}

// Do does one action. Failed is the error's word of an authenticated answer, empty when it succeeded.
func (c *Connection) Do(ctx context.Context, action string, args json.RawMessage) (result json.RawMessage, failed string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	clientNonce := random(32)
	challenge, err := c.post(ctx, routeAsk, append([]byte{1}, clientNonce...))
	if err != nil {
		return nil, "", err
	}
	id, kemKey, err := c.check(challenge, clientNonce)
	if err != nil {
		return nil, "", err
	}
	encapsulation, err := mlkem.NewEncapsulationKey1024(kemKey)
	if err != nil {
		return nil, "", err
	}
	secret, kem := encapsulation.Encapsulate()
	transcript := sha512.Sum384(canon("transcript", c.ed, c.pq, challenge, []byte(routeAction), []byte(c.principal), u64(c.generation), kem))
	prk, err := hkdf.Extract(sha512.New384, secret, transcript[:])
	if err != nil {
		return nil, "", err
	}
	expand := func(what string, n int) []byte {
		out, e := hkdf.Expand(sha512.New384, prk, protocol+" "+what, n)
		err = errors.Join(err, e)
		return out
	}
	actionKey, actionNonce, replyKey, replyNonce := expand("action key", 32), expand("action nonce", 12), expand("reply key", 32), expand("reply nonce", 12)
	if err != nil {
		return nil, "", err
	}
	requestID := random(16)
	additional := func(kind string) []byte { return canon("sealed", []byte(kind), []byte(routeAction), requestID) }
	plain, err := json.Marshal(map[string]any{"action": action, "args": args})
	if err != nil {
		return nil, "", err
	}
	sealed := gcm(actionKey).Seal(nil, actionNonce, plain, additional("agent-request"))
	body := bytes.Join([][]byte{{1}, id, kem, requestID, binary.BigEndian.AppendUint32(nil, uint32(len(sealed))), sealed}, nil)
	reply, err := c.post(ctx, routeAction, body)
	if err != nil {
		return nil, "", err
	}
	if len(reply) < 21 || reply[0] != 1 || !hmac.Equal(reply[1:17], requestID) || int(binary.BigEndian.Uint32(reply[17:])) != len(reply)-21 {
		return nil, "", errors.New("no reply: whether it happened is unknown")
	}
	opened, err := gcm(replyKey).Open(nil, replyNonce, reply[21:], additional("agent-response"))
	if err != nil {
		return nil, "", errors.New("no reply: whether it happened is unknown")
	}
	var inner struct {
		Kind   string          `json:"kind"`
		Status int             `json:"status"`
		Result json.RawMessage `json:"result"`
		Error  string          `json:"error"`
	}
	if err := json.Unmarshal(opened, &inner); err != nil || inner.Kind != "agent-response" {
		return nil, "", errors.New("no reply: whether it happened is unknown")
	}
	if inner.Status == 200 && inner.Error == "" {
		return inner.Result, "", nil
	}
	return nil, inner.Error, nil
}

// check says whether a challenge is to be believed, and gives its id and key.
func (c *Connection) check(b, clientNonce []byte) (id, kemKey []byte, err error) {
	principal := c.principalBytes()
	signedLen := 1 + 16 + 32 + 32 + len(principal) + 8 + 8 + 1568
	if len(b) != signedLen+64+4627 {
		return nil, nil, errors.New("no challenge: pair anew")
	}
	signed := b[:signedLen]
	message := canon("challenge", signed)
	var pin mldsa87.PublicKey
	if err := pin.UnmarshalBinary(c.pq); err != nil {
		return nil, nil, err
	}
	edOK := ed25519.Verify(c.ed, message, b[signedLen:signedLen+64])
	pqOK := mldsa87.Verify(&pin, message, []byte(protocol), b[signedLen+64:])
	rest := signed[1+16+32+32+len(principal):]
	issued, expires := int64(binary.BigEndian.Uint64(rest)), int64(binary.BigEndian.Uint64(rest[8:]))
	now := time.Now().UnixMilli()
	if !edOK || !pqOK || signed[0] != 1 || !hmac.Equal(signed[1:17], c.instance) || !hmac.Equal(signed[49:81], clientNonce) || !hmac.Equal(signed[81:81+len(principal)], principal) ||
		expires-issued != 10_000 || now < issued-30_000 || now > expires+30_000 {
		return nil, nil, errors.New("a challenge of somebody else: pair anew")
	}
	return signed[17:49], rest[16:], nil
}
