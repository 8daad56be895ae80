package rows

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestEnvelopeGivesItsRows(t *testing.T) {
	for _, c := range []struct {
		text, rows, status string
		count              int
	}{
		{"{\"n\":1,\"results\":[{\"a\": 1},\n {\"b\":[1, 2]}, 3],\"status\":\"done\"}", "{\"a\":1}\n{\"b\":[1,2]}\n3\n", `"done"`, 3},
		{`{"status":"done","results":[]}`, "", `"done"`, 0},
		{` {"status":"processing","results":null} `, "", `"processing"`, 0},
		{`{}`, "", "", 0},
	} {
		e := NewEnvelope(iotest.OneByteReader(strings.NewReader(c.text)), "results")
		got, err := io.ReadAll(iotest.OneByteReader(e))
		if err != nil || string(got) != c.rows || e.Rows != c.count || string(e.Fields["status"]) != c.status {
			t.Errorf("%s: %q, %d, %s, %v", c.text, got, e.Rows, e.Fields, err)
		}
	}
}

func TestEnvelopeThatIsNotAsItShouldBe(t *testing.T) {
	broke := errors.New("broke")
	for text, want := range map[string]string{
		`[1]`:                           "record 1: it is not a JSON object",
		`5`:                             "record 1: it is not a JSON object",
		`{"results":{}}`:                `record 1: "results" is not an array`,
		`{"results":[1],"results":[2]}`: `record 2: "results" is there twice`,
		`{"results":[1]} {}`:            "record 2: more follows the object",
		`{"results":[1 2]}`:             "record 2: ",
		`{"results":[1,`:                "unexpected EOF",
		`{"results":[1]`:                "unexpected EOF",
		``:                              "unexpected EOF",
	} {
		_, err := io.ReadAll(NewEnvelope(strings.NewReader(text), "results"))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
		_, err = io.ReadAll(NewEnvelope(io.MultiReader(strings.NewReader(`{"results":[1,`), iotest.ErrReader(broke)), "results"))
		if !errors.Is(err, broke) {
			t.Errorf("the reader's error became %v", err)
		}
	}
}

func TestEnvelopeIsBounded(t *testing.T) {
	fields := strings.Repeat(`"x":"`+strings.Repeat("a", maxBeside)+`",`, 2)
	e := NewEnvelope(strings.NewReader(`{`+fields+`"status":"done"}`), "results")
	if _, err := io.ReadAll(e); err != nil || len(e.Fields) != 1 {
		t.Errorf("%d fields, %v", len(e.Fields), err)
	}
	endless := io.MultiReader(strings.NewReader(`{"results":["`), letters{})
	var row *RecordsError
	if _, err := io.ReadAll(NewEnvelope(endless, "results")); !errors.As(err, &row) || !errors.Is(err, errLongResultRow) {
		t.Errorf("a row without an end: %v", err)
	}
}

// letters gives letters without an end.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func FuzzEnvelope(f *testing.F) {
	f.Add([]byte(`{"status":"done","results":[{"a":1},{"a":"\n"}],"n":[1]}`))
	f.Add([]byte(`{"results":[1`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e := NewEnvelope(bytes.NewReader(text), "results")
		got, err := io.ReadAll(e)
		if err != nil {
			return
		}
		lines := bytes.Split(bytes.TrimSuffix(got, []byte("\n")), []byte("\n"))
		if len(got) == 0 {
			lines = nil
		}
		if len(lines) != e.Rows {
			t.Fatalf("%d lines of %d rows", len(lines), e.Rows)
		}
		for _, line := range lines {
			if !json.Valid(line) {
				t.Fatalf("a line is not JSON: %q", line)
			}
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(text, &object) != nil {
			t.Fatalf("taken for an object: %q", text)
		}
	})
}
