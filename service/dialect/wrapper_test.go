package dialect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// whole has everything that a wrapper may hold.
const whole = `{ "x" : [1, {"y": "a\"\\b"}, null], "status_code":200, "n\u00e4" : 1e3 , "headers":{"a":"1","b":["2","3"],"c":4},"body":"\b\f\n\r\t\/\"\\ \u00E4\u00fF\uAbCd \ud83d\ud83d\ude00","z":{}}`

func TestEverythingThatAWrapperMayHoldIsRead(t *testing.T) {
	var b bytes.Buffer
	w, err := Unwrap(strings.NewReader(whole), &b)
	want := Wrapper{StatusCode: 200, Body: true, Header: http.Header{"A": {"1"}, "B": {"2", "3"}, "C": {"4"}}}
	if err != nil || !reflect.DeepEqual(w, want) || b.String() != "\b\f\n\r\t/\"\\ äÿ\uabcd \ufffd😀" {
		t.Errorf("%+v, %q, %v", w, b.String(), err)
	}
}

func TestAWrapperThatEndsAnywhereIsNotOne(t *testing.T) {
	broken := errors.New("the line is dead")
	for n := range len(whole) {
		if _, err := Unwrap(strings.NewReader(whole[:n]), io.Discard); !errors.Is(err, errNotWrapped) {
			t.Errorf("after %q: %v", whole[:n], err)
		}
		if _, err := Unwrap(io.MultiReader(strings.NewReader(whole[:n]), iotest.ErrReader(broken)), io.Discard); !errors.Is(err, broken) {
			t.Errorf("broken after %q: %v", whole[:n], err)
		}
	}
	if _, err := Unwrap(io.MultiReader(strings.NewReader(whole), iotest.ErrReader(broken)), io.Discard); !errors.Is(err, broken) {
		t.Errorf("broken after its end: %v", err)
	}
}

func TestABodyThatCannotBeWrittenIsAnError(t *testing.T) {
	full := errors.New("no space left")
	for _, body := range []string{"a", strings.Repeat("a", 64<<10), strings.Repeat(`\n`, 64<<10), strings.Repeat(`\u00e4`, 64<<10), strings.Repeat(`\ud83d\ud83d`, 64<<10)} {
		_, err := Unwrap(strings.NewReader(`{"status_code":200,"body":"`+body+`"}`), failing{full})
		if !errors.Is(err, full) || errors.Is(err, errNotWrapped) {
			t.Errorf("%.10s of %d bytes: %v", body, len(body), err)
		}
	}
}

type failing struct{ err error }

func (w failing) Write([]byte) (int, error) { return 0, w.err }

func TestAWrapperIsBounded(t *testing.T) {
	fields := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"body":"b"`)
		for i := range n - 1 {
			fmt.Fprintf(&b, `,"n%d":1`, i)
		}
		return b.String() + "}"
	}
	nested := func(n int) string { return `{"x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `,"body":"b"}` }
	long := func(value string, n int) string {
		return `{"x":` + strings.Replace(value, "…", strings.Repeat("a", n-len(value)+len("…")), 1) + `,"body":"b"}`
	}
	for name, c := range map[string]struct{ fits, not string }{
		"fields":                 {fields(257), fields(258)},
		"levels":                 {nested(64), nested(65)},
		"a long text":            {long(`"…"`, 1<<20), long(`"…"`, 1<<20+1)},
		"an escape at its end":   {long(`"…\n"`, 1<<20), long(`"…\n"`, 1<<20+1)},
		"a bracket at its end":   {long(`["…"]`, 1<<20), long(`["…"]`, 1<<20+1)},
		"a number at its end":    {long(`["…",12]`, 1<<20), long(`["…",12]`, 1<<20+1)},
		"white space at its end": {long(`["…"  ]`, 1<<20), long(`["…"  ]`, 1<<20+1)},
	} {
		if _, err := Unwrap(strings.NewReader(c.fits), io.Discard); err != nil {
			t.Errorf("%s, at the bound: %v", name, err)
		}
		if _, err := Unwrap(strings.NewReader(c.not), io.Discard); !errors.Is(err, errNotWrapped) {
			t.Errorf("%s, beyond the bound: %v", name, err)
		}
	}
}

func TestAValueThatIsMissingIsSaid(t *testing.T) {
	for _, in := range []string{`{"x":,"body":"b"}`, `{"x":,1,"body":"b"}`, `{"x"::1,"body":"b"}`, `{"x":]1,"body":"b"}`, `{"x":}`, `{"x":]}`, `{"x"::1}`, `{"x":"a""b"}`, `{"x":1 2}`, `{1:2}`, `{"body":"b",1:2}`, `{"x":[1}}`, `{"x":{]}`, `{"x":tru}`} {
		if _, err := Unwrap(strings.NewReader(in), io.Discard); !errors.Is(err, errNotWrapped) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestWhereAValueIsMissingTheErrorSaysSo(t *testing.T) {
	for _, in := range []string{`{"x":,"body":"b"}`, `{"x"::1,"body":"b"}`, `{"x":},"body":"b"}`, `{"x":],"body":"b"}`} {
		if _, err := Unwrap(strings.NewReader(in), io.Discard); !errors.Is(err, errNotWrapped) || !strings.HasSuffix(err.Error(), ": a value is missing") {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestTheDigitsOfAnEscape(t *testing.T) {
	for digits, want := range map[string]string{"0039": "9", "0030": "0", "005a": "Z", "005F": "_", "00fA": "ú", "FAfa": "\ufafa", "9999": "\u9999"} {
		var b bytes.Buffer
		if _, err := Unwrap(strings.NewReader(`{"body":"\u`+digits+`"}`), &b); err != nil || b.String() != want {
			t.Errorf("%s: %q, %v", digits, b.String(), err)
		}
	}
	for _, digit := range []string{"/", ":", "@", "G", "`", "g", " ", "-"} {
		if _, err := Unwrap(strings.NewReader(`{"body":"\u004`+digit+`"}`), io.Discard); !errors.Is(err, errNotWrapped) {
			t.Errorf("%q is a digit: %v", digit, err)
		}
	}
}
