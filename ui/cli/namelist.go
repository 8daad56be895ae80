package cli

import (
	"encoding/csv"
	"errors"
	"io"
	"strings"
)

// nameList is the value of a flag that names columns or fields, separated by commas. A name with a comma is quoted as
// in CSV; if the value is not valid CSV, quotation marks belong to the names. An empty value, such as that of an unset
// variable, is refused.
type nameList []string

func (l *nameList) Set(s string) error {
	names, err := csv.NewReader(strings.NewReader(s)).Read()
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("it names nothing: name at least one, or leave the flag out")
	case err != nil:
		names = strings.Split(s, ",")
	}
	*l = append(*l, names...)
	return nil
}

func (l *nameList) String() string { return strings.Join(*l, ",") }

func (*nameList) Type() string { return "strings" }
