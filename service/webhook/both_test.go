package webhook

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"zonedeck/internal/noerr"
	"zonedeck/model"
)

// Statements have to avoid these differences between SQLite and PostgreSQL (see database/postgrestest).

// LIKE is case-sensitive only on PostgreSQL.
func TestTheCaseOfAnAddressDoesNotMatter(t *testing.T) {
	in := openInbox(t, t.TempDir())
	stored(t, in, row{Webhook: model.Webhook{At: time.Now(), Remote: "fe80::1%Wifi"}}, row{Webhook: model.Webhook{At: time.Now(), Remote: "192.0.2.1"}})
	again := &arrival{row: row{Webhook: model.Webhook{At: time.Now(), Remote: "fe80::1%WIFI"}}, identity: "1", done: make(chan placed, 1)}
	in.commitGroup(t.Context(), []*arrival{again})
	for from, want := range map[string][]int64{"FE80::1%wiFi": {2, 1}, "fe80::1%_ifi": nil, "192.": {2}} {
		if got, _, err := in.Numbers(t.Context(), filtered(t, "from:"+from)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", from, got, err, want)
		}
	}
}

// PostgreSQL accepts only UTF-8 text, but a sender may send any bytes.
func TestBytesThatAreNoTextAreStored(t *testing.T) {
	in := openInbox(t, t.TempDir())
	r, events := listening(t, in, Config{})
	for _, end := range []string{"\xff", "\xfe"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.URL(), "http://"))
		noerr.Must(t, err)
		_, err = io.WriteString(conn, "POST /a%00%ff?b="+end+" HTTP/1.1\r\nHost: x\r\nWebhook-Id: c"+end+"\r\nX-D"+": "+end+"\r\nContent-Length: 3\r\n\r\n\x00"+end+"\x00")
		noerr.Must(t, err)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%+v, %v", resp, err)
		}
		_ = resp.Body.Close()
		_ = conn.Close()
		d := await(t, events, false) // webhooks that differ in such a byte are different
		if d.Target != "/a%00%ff?b=�" || d.SenderID != "c�" || d.Header("X-D") != "�" {
			t.Errorf("%q, %q, %q", d.Target, d.SenderID, d.Headers)
		}
	}
}

func TestTheSizeOfAllIsANumber(t *testing.T) {
	in := openInbox(t, t.TempDir())
	const large = 5_000_000_000
	stored(t, in, row{Webhook: model.Webhook{At: time.Now(), Size: large}}, row{Webhook: model.Webhook{At: time.Now(), Size: large}})
	if n, err := in.bytes(t.Context()); err != nil || n != 2*large {
		t.Errorf("%d, %v", n, err)
	}
}

func TestWhatComesToTwoMachinesAtOnceIsOne(t *testing.T) {
	dir := t.TempDir()
	first := openInbox(t, dir)
	var both sync.WaitGroup
	for _, in := range []*Inbox{first, openInbox(t, dir)} {
		both.Go(func() {
			for n := range 30 {
				a := &arrival{row: row{Webhook: model.Webhook{At: time.Now()}}, identity: string(rune('a' + n)), done: make(chan placed, 1)}
				in.commitGroup(t.Context(), []*arrival{a})
				if got := <-a.done; got.err != nil {
					t.Error(got.err)
				}
			}
		})
	}
	both.Wait()
	list, total, err := first.List(t.Context(), Filter{}, 0)
	if err != nil || total != 30 || list[0].ID != "hook-30" || slices.ContainsFunc(list, func(d model.Webhook) bool { return d.Times != 2 }) {
		t.Errorf("%d, %+v, %v", total, list, err)
	}
}
