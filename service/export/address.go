package export

import (
	"errors"
	"net/url"
	"strings"
)

// path is the address's path as it is spelt.
func (c call) path() string {
	u, err := url.Parse(c.url)
	if err != nil {
		return ""
	}
	return u.EscapedPath()
}

// dots reports whether the path has a part that means this folder or the one above, which
// many clients resolve before they send it.
func (c call) dots() bool {
	for part := range strings.SplitSeq(c.path(), "/") {
		if p, err := url.PathUnescape(part); err == nil && (p == "." || p == "..") {
			return true
		}
	}
	return false
}

// errDots refuses a path that a client would resolve.
var errDots = errors.New(`it resolves the "." and ".." of a path, which the form sends as they are; curl and Go can do it`)
