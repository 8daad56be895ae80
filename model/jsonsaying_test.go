package model

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzJSONSays holds the reader of answers in JSON to its bounds: what it quotes stands in the body, the same answer written
// otherwise says the same, and one that is cut or too large says nothing.
func FuzzJSONSays(f *testing.F) {
	for _, body := range []string{
		`{}`, `{"captcha":true}`, ` {"error":{"code":429,"message":"slow down"}}`, `{"errors":[{"message":"x","extensions":{"code":"FORBIDDEN"}}]}`,
		`{"success":false,"reason":"geo_blocked"}`, `{"status":"error","code":"E_CAPTCHA"}`, `{"detail":"Access denied"}`, `{"items":[1,2,3],"blocked":false}`,
		`{"error":` + strings.Repeat(`{"error":`, 20) + `"captcha"` + strings.Repeat(`}`, 21), "\ufeff{\"err\":\"caf\xe9 too many requests\"}",
	} {
		f.Add([]byte(body), uint(len(body)/2))
	}
	says := func(body []byte) page {
		s := scan{body: body}
		s.jsonSays()
		return s.page
	}
	f.Fuzz(func(t *testing.T, body []byte, cut uint) {
		p := says(body)
		for _, m := range p.marks {
			if m.offset+m.length > len(body) || m.length > 0 && string(body[m.offset:m.offset+m.length]) != m.text || len(m.text) > maxQuote {
				t.Errorf("%+v is not in the body", m)
			}
		}
		if (p.verdict == ordinary) != (len(p.marks) == 0) || len(p.marks) > 1 {
			t.Errorf("%d by %+v", p.verdict, p.marks)
		}
		object := bytes.TrimRight(trimStart(body), " \t\r\n")
		if json.Valid(object) { // else a part of it may be whole
			if begun := says(object[:cut%uint(len(object))]); begun.verdict != ordinary {
				t.Errorf("cut, it says %d by %+v", begun.verdict, begun.marks)
			}
		}
		var value any
		if json.Unmarshal(object, &value) != nil {
			return
		}
		var again bytes.Buffer
		w := json.NewEncoder(&again)
		w.SetEscapeHTML(false)
		if w.Encode(value) != nil || again.Len() > maxJSONSaying || len(body) > maxJSONSaying {
			return
		}
		if other := says(again.Bytes()); other.verdict != p.verdict {
			t.Errorf("%d, written as %s %d", p.verdict, again.Bytes(), other.verdict)
		}
		large := append(object, bytes.Repeat([]byte(" "), maxJSONSaying)...)
		if other := says(large); other.verdict != ordinary {
			t.Errorf("too large, it says %d", other.verdict)
		}
	})
}
