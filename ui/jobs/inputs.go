package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"zonedeck/model"
)

// recent is how far back the same inputs ask before they are launched again.
const recent = time.Hour

// digest identifies a launch by its dataset and inputs, in any order, so that
// the same rows from another file are recognised.
func digest(dataset string, inputs []model.JobInput) string {
	rows := make([]string, len(inputs))
	for i, in := range inputs {
		var b strings.Builder
		b.WriteString(in.URL)
		names := make([]string, 0, len(in.Extra))
		for name := range in.Extra {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			b.WriteString("\x00" + name + "\x00" + in.Extra[name])
		}
		rows[i] = b.String()
	}
	slices.Sort(rows)
	h := sha256.New()
	h.Write([]byte(dataset))
	for _, r := range rows {
		h.Write([]byte("\x01"))
		h.Write([]byte(r))
	}
	return hex.EncodeToString(h.Sum(nil))
}
