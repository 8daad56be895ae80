package cli

import (
	"encoding/csv"
	"errors"
	"io"
	"strings"
)

// nameList is the value of a flag that names columns or fields, with commas between them. A name with a comma is quoted
// as in CSV; where that leads to nothing, the quotation marks belong to the names.
type nameList struct{ names *[]string }

func (l nameList) Set(s string) error {
	names, err := csv.NewReader(strings.NewReader(s)).Read()
	if err != nil && !errors.Is(err, io.EOF) {
		names = strings.Split(s, ",")
	}
	if *l.names == nil {
		*l.names = []string{}
	}
	*l.names = append(*l.names, names...)
	return nil
}

func (l nameList) String() string {
	if l.names == nil {
		return ""
	}
	return strings.Join(*l.names, ",")
}

func (nameList) Type() string { return "strings" }
