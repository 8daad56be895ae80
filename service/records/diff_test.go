package records

import (
	"fmt"
	"strings"
	"testing"
)

func TestTheDifferenceOfTwoResults(t *testing.T) {
	old := file(t, "old.json", `[{"id":1,"p q":5,"at":"mon"},{"id":2,"x":null,"n":[1, 2]},{"id":3},{"id":3,"p q":9},{"name":"no key"},{"id":[1]}, oops]`)
	now := file(t, "new.ndjson", "{\"at\":\"tue\",\"p q\":6,\"id\":\"1\"}\n{\"n\":[1, 2],\"id\":2,\"at\":\"tue\"}\n{\"id\":4}\n{\"id\":4,\"x\":1}\n{\"id\":null}\n")
	c, err := now.Compare(t.Context(), old, How{Key: "id", Ignore: []string{"at"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.List.Close()
	var got []string
	if err := c.EachChange(t.Context(), now, func(change Change, row []byte, fields []FieldChange) error {
		got = append(got, fmt.Sprintf("%s %s %v", change, row, fields))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`changed {"at":"tue","p q":6,"id":"1"} [{p q {number 5} {number 6}}]`,
		`added {"id":4} []`,
		`removed {"id":3} []`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if c.Added != 1 || c.Removed != 1 || c.Changed != 1 || c.Same != 1 || c.Old != (Keyed{7, 1, 2, 1}) || c.New != (Keyed{5, 1, 1, 0}) {
		t.Errorf("%+v", c)
	}
	if got, want := strings.Join(c.Counts(), "\n"), `the old result: rows without the field "id", which are not compared: 2 of 7
the old result: rows that repeat a key, of which the first counts: 1 of 7
the old result: rows that cannot be read: 1 of 7
the new result: rows without the field "id", which are not compared: 1 of 5
the new result: rows that repeat a key, of which the first counts: 1 of 5`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	d, err := now.Detail(c.View(), 0)
	if err != nil || d.Change != Changed || len(d.Fields) != 1 || d.Fields[0].Name != "p q" {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err = now.Detail(c.View(), 2); err != nil || d.Change != Removed || d.N != 2 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestOnlyNewRows(t *testing.T) {
	old := file(t, "old.csv", "id,name\n1,a\n2,b\n")
	now := file(t, "new.json", `[{"id":3},{"id":2},{"id":5},{"id":3,"x":1},{}]`)
	c, err := now.Compare(t.Context(), old, How{Key: "id", OnlyNew: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.List.Close()
	if got := written(t, now, c.View()); got != "{\"id\":3}\n{\"id\":5}\n" || c.Removed != 1 || c.Same != 1 {
		t.Errorf("%q, %+v", got, c)
	}
}
