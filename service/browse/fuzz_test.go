package browse

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/gobwas/ws"

	"zonedeck/service/exchange"
)

// heard is a socket whose other side says something and leaves.
func heard(said []byte) *exchange.Socket {
	return &exchange.Socket{Reader: bufio.NewReader(bytes.NewReader(said)), Writer: io.Discard, Closer: io.NopCloser(nil)}
}

func frames(texts ...string) []byte {
	var b bytes.Buffer
	for _, s := range texts {
		_ = ws.WriteFrame(&b, ws.NewTextFrame([]byte(s))) // a buffer takes all of it
	}
	return b.Bytes()
}

func FuzzWhatTheBrowserSays(f *testing.F) {
	f.Add(frames(`{"id":1,"result":{"targetId":"T"}}`, `{"id":2,"result":{"sessionId":"S"}}`, `{"id":3}`, `{"id":4}`,
		`{"id":5,"result":{"frameId":"F"}}`, `{"method":"Page.loadEventFired","sessionId":"S"}`, `{"id":6,"result":{"data":"iVBORw0KGgo="}}`, `{"id":7}`))
	f.Add(frames(`{"id":1,"error":{"message":"no"}}`))
	f.Add([]byte{0x88, 0x02, 0x03, 0xe8})
	f.Add([]byte{0x81, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, said []byte) {
		v := visit{s: newSession(heard(said))}
		v.s.on = v.event
		err := v.attach(t.Context())
		if err == nil {
			err = v.navigate(t.Context(), "http://lab.test/")
		}
		if err == nil && v.ErrorText == "" {
			err = v.look(t.Context())
		}
		var broke *exchange.Error
		var refused *RefusedError
		var closed *ClosedError
		if err != nil && !errors.As(err, &broke) && !errors.As(err, &refused) && !errors.As(err, &closed) {
			t.Errorf("%v (%T) is no outcome", err, err)
		}
	})
}

func TestTheCommandsOfAVisitAreInTheirOrder(t *testing.T) {
	for i, line := range Steps("http://lab.test/?a=<b>") {
		var c command
		if err := json.Unmarshal([]byte(line), &c); err != nil || c.ID != i+1 {
			t.Errorf("%s: %v", line, err)
		}
	}
}
