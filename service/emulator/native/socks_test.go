package native

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"zonedeck/internal/noerr"
)

// socksDial does the handshake by hand and returns the reply's code.
func (g *rig) socksDial(login, password string, request []byte, more string) (net.Conn, byte) {
	g.t.Helper()
	c, err := net.Dial("tcp", g.socks)
	noerr.Must(g.t, err)
	g.t.Cleanup(func() { c.Close() })
	noerr.Must(g.t, c.SetDeadline(time.Now().Add(time.Minute)))
	u := user(login)
	// Everything in one packet, as a client that does not wait would send it.
	msg := append([]byte{5, 2, 0, 2, 1, byte(len(u))}, u...)
	msg = append(append(msg, byte(len(password))), password...)
	noerr.Must(g.t, noerr.From(c.Write(append(append(msg, request...), more...))))
	var b [10]byte
	if _, err := io.ReadFull(c, b[:4]); err != nil || b[0] != 5 || b[1] != 2 || b[2] != 1 {
		g.t.Fatalf("% x, %v", b[:4], err)
	}
	if b[3] != 0 {
		closed(g.t, c)
		return nil, 0xff
	}
	if _, err := io.ReadFull(c, b[:]); err != nil || b[0] != 5 || b[3] != 1 {
		g.t.Fatalf("% x, %v", b, err)
	}
	if b[1] == 0 && b[4] != 127 {
		g.t.Errorf("the bound address is not the exit: % x", b)
	}
	return c, b[1]
}

func socksTo(cmd byte, host string, port int) []byte {
	b := append([]byte{5, cmd, 0, 3, byte(len(host))}, host...)
	return append(b, byte(port>>8), byte(port))
}

func TestSOCKS(t *testing.T) {
	g := newRig(t, rigOptions{target: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "reached by ", r.Proto) })})
	for _, c := range []struct {
		name, login, password string
		request               []byte
		reply                 byte
	}{
		{"a name", "isp", "pw", socksTo(1, "lab.test", 80), 0},
		{"another password", "isp", "no", socksTo(1, "lab.test", 80), 0xff},
		{"no such zone", "nosuch", "pw", socksTo(1, "lab.test", 80), 0xff},
		{"a wrong flag", "isp-country-usa", "pw", socksTo(1, "lab.test", 80), 0xff},
		{"a product without native access", "serp", "pw", socksTo(1, "lab.test", 80), 0xff},
		{"BIND", "isp", "pw", socksTo(2, "lab.test", 80), 7},
		{"UDP", "isp", "pw", socksTo(3, "lab.test", 80), 7},
		{"an IPv4 address", "isp", "pw", []byte{5, 1, 0, 1, 127, 0, 0, 1, 0, 80}, 8},
		{"an IPv6 address", "isp", "pw", append([]byte{5, 1, 0, 4}, make([]byte, 18)...), 8},
		{"another type of address", "isp", "pw", []byte{5, 1, 0, 9, 0, 0}, 8},
		{"an address as a name", "isp", "pw", socksTo(1, "127.0.0.1", 80), 2},
		{"no name", "isp", "pw", socksTo(1, "", 80), 2},
		{"no host name", "isp", "pw", socksTo(1, "a b", 80), 2},
		{"a private name", "isp", "pw", socksTo(1, "localhost", 8080), 2},
		{"a port that is refused", "isp", "pw", socksTo(1, "mail.example", 25), 2},
		{"residential to https", "residential", "pw", socksTo(1, "lab.test", 443), 0},
		{"residential elsewhere", "residential", "pw", socksTo(1, "lab.test", 80), 2},
		{"residential with the check elsewhere", "kyc", "pw", socksTo(1, "lab.test", 80), 2},
		{"a name that nobody knows", "isp", "pw", socksTo(1, "nosuch.example", 443), 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := *g
			g.t = t
			if _, reply := g.socksDial(c.login, c.password, c.request, ""); reply != c.reply {
				t.Errorf("reply %d, want %d", reply, c.reply)
			}
		})
	}
	// The request for the page in the packet of the handshake.
	c, _ := g.socksDial("isp", "pw", socksTo(1, "lab.test", 80), "GET / HTTP/1.0\r\nHost: lab.test\r\n\r\n")
	if b, err := io.ReadAll(c); err != nil || !strings.Contains(string(b), "reached by HTTP/1.0") {
		t.Errorf("%q %v", b, err)
	}
	// Re-signed by the emulator's own authority, like through the proxy.
	c, _ = g.socksDial("residential", "pw", socksTo(1, "lab.test", 443), "")
	tc := tls.Client(c, &tls.Config{ServerName: "lab.test", RootCAs: g.ca.Pool()})
	fmt.Fprint(tc, "GET / HTTP/1.1\r\nHost: lab.test\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(tc), nil)
	if got := body(t, resp, err); got != "reached by HTTP/1.1" || resp.Header.Get("x-brd-ip") == "" {
		t.Errorf("%q %v", got, resp.Header)
	}
}

func TestSOCKSSaysWhatIsWrongWithADeadTarget(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	noerr.Must(t, err)
	g := newRig(t, rigOptions{rawTarget: ln})
	ln.Close()
	if _, reply := g.socksDial("isp", "pw", socksTo(1, "lab.test", 80), ""); reply != 5 {
		t.Errorf("reply %d, want connection refused", reply)
	}
}

func TestSOCKSWithoutALoginIsRefused(t *testing.T) {
	g := newRig(t, rigOptions{target: http.NotFoundHandler()})
	for _, greeting := range []string{"\x05\x01\x00", "\x05\x00"} {
		c, err := net.Dial("tcp", g.socks)
		noerr.Must(t, err)
		defer c.Close()
		noerr.Must(t, noerr.From(io.WriteString(c, greeting)))
		var b [2]byte
		if _, err := io.ReadFull(c, b[:]); err != nil || b != [2]byte{5, 0xff} {
			t.Errorf("% x %v", b, err)
		}
		closed(t, c)
	}
}

// FuzzSOCKS: whatever a client sends, the handshake ends, and needs the password to succeed.
func FuzzSOCKS(f *testing.F) {
	g := newRig(f, rigOptions{target: http.NotFoundHandler()})
	login := func(password string, request []byte) []byte {
		u := user("isp")
		b := append([]byte{5, 1, 2, 1, byte(len(u))}, u...)
		return append(append(append(b, byte(len(password))), password...), request...)
	}
	f.Add([]byte{5, 1, 0})
	f.Add([]byte{4, 1, 0, 80, 127, 0, 0, 1, 0})
	f.Add(login("pw", socksTo(1, "lab.test", 25)))
	f.Add(login("no", socksTo(1, "lab.test", 80)))
	f.Add(login("pw", []byte{5, 1, 0, 1, 8, 8, 8, 8, 0, 80}))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		near, far := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = far.Write(b)
			far.Close()
		}()
		var answered bytes.Buffer
		c := &tunnelled{Conn: &noticed{near, &answered}, r: bufio.NewReader(near)}
		cred, err := socksLogin(c.r, c.Conn)
		if err == nil {
			if _, refused := g.proxy.login(cred); refused == nil && cred.password != "pw" {
				t.Fatalf("%+v was let in", cred)
			}
			host, port, err := socksRequest(c.r)
			if err == nil && (host == "" || port == "" || strings.ContainsAny(host, " \r\n\x00")) {
				t.Fatalf("%q %q", host, port)
			}
		}
		near.Close()
		<-done
		if a := answered.Bytes(); len(a) > 0 && (len(a) != 2 || a[0] != 5) {
			t.Fatalf("answered % x", a)
		}
	})
}

// noticed keeps what is written, and sends nothing.
type noticed struct {
	net.Conn
	to *bytes.Buffer
}

func (n *noticed) Write(p []byte) (int, error) { return n.to.Write(p) }

// ending is a stage that says how visits end.
type ending struct {
	Pass
	ended chan<- string
}

func (s ending) Done(v *Visit, o Outcome) {
	s.ended <- fmt.Sprintf("%s %s zone=%s to %q %d %s", v.Entry, v.User, v.Zone.Name, v.Target, o.Status, o.Code)
}

func TestARefusedSOCKSConnectionIsAVisitThatSaysWhy(t *testing.T) {
	ended := make(chan string, 1)
	g := newRig(t, rigOptions{conf: func(c *Config) {
		c.Stages = []Stage{ending{ended: ended}}
	}})
	for _, c := range []struct{ login, password, want string }{
		{"isp", "no", `socks ` + user("isp") + ` zone= to "" 407 client_10000`},
		{"nosuch", "pw", `socks ` + user("nosuch") + ` zone= to "" 407 client_10002`},
		{"residential", "pw", `socks ` + user("residential") + ` zone=residential to "lab.test:80" 403 policy_20020`},
	} {
		g.socksDial(c.login, c.password, socksTo(1, "lab.test", 80), "")
		select {
		case got := <-ended:
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		case <-time.After(time.Minute):
			t.Errorf("nothing, want %s", c.want)
		}
	}
}
