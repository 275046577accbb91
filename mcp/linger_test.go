package mcp

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A client that sends all it has before it looks at the answer is told why it was refused, instead of being cut off.
func TestARefusedSenderReadsTheAnswer(t *testing.T) {
	const size = 32 << 20
	refuse := func(w http.ResponseWriter) { problem(w, http.StatusRequestEntityTooLarge, "too large") }
	for name, h := range map[string]func(http.ResponseWriter, *http.Request){
		"before it was read": func(w http.ResponseWriter, _ *http.Request) { refuse(w) },
		"in the middle": func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.CopyN(io.Discard, r.Body, size/4); err != nil {
				t.Error(err)
			}
			refuse(w)
		},
		"by its bound": func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20)); err == nil {
				t.Error("there is no bound")
			}
			refuse(w)
		},
	} {
		for _, framing := range []string{fmt.Sprintf("Content-Length: %d", size), "Transfer-Encoding: chunked"} {
			header, _, _ := strings.Cut(framing, ":")
			t.Run(name+"/"+header, func(t *testing.T) {
				srv := httptest.NewServer(lingering(http.HandlerFunc(h)))
				defer srv.Close()
				c, err := net.Dial("tcp", srv.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
					t.Fatal(err)
				}
				block := strings.Repeat("x", 1<<20)
				if strings.HasPrefix(framing, "Transfer") {
					block = fmt.Sprintf("%x\r\n%s\r\n", len(block), block)
				}
				out := bufio.NewWriter(c)
				fmt.Fprintf(out, "PUT / HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n", framing)
				for range size >> 20 {
					if _, err := out.WriteString(block); err != nil {
						t.Fatalf("cut off while it sends: %v", err)
					}
				}
				if strings.HasPrefix(framing, "Transfer") {
					fmt.Fprint(out, "0\r\n\r\n")
				}
				if err := out.Flush(); err != nil {
					t.Fatalf("cut off at the end: %v", err)
				}
				resp, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != 413 || !resp.Close || !strings.Contains(string(body), "too large") {
					t.Errorf("%d %q %v", resp.StatusCode, body, err)
				}
			})
		}
	}
}

// One that looks early has the whole answer before it sent everything, and one that was heard out keeps its connection.
func TestARefusalDoesNotWaitForTheRest(t *testing.T) {
	srv := httptest.NewServer(lingering(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				t.Error(err)
			}
		}
		problem(w, http.StatusRequestEntityTooLarge, "too large")
	})))
	defer srv.Close()
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(c)
	ask := func(method, body string, size int) *http.Response {
		t.Helper()
		if _, err := fmt.Fprintf(c, "%s / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", method, size, body); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		return resp
	}
	const size = lingerAbove + 1
	if r := ask("POST", strings.Repeat("x", size), size); r.StatusCode != 413 || r.Close {
		t.Errorf("heard out: %d, closes %v", r.StatusCode, r.Close)
	}
	if r := ask("PUT", "only the beginning", size); r.StatusCode != 413 || !r.Close {
		t.Errorf("not heard: %d, closes %v", r.StatusCode, r.Close)
	}
}
