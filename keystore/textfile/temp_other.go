//go:build !unix

package textfile

import (
	"errors"
	"os"
)

// errHeld is never returned. The locks of Windows bind every handle: with them a body could
// not be read back while it is written.
var errHeld = errors.New("the file is held")

// noFollow cannot be asked for here.
const noFollow = 0

func another(int, string) (*os.File, error) { return nil, errors.ErrUnsupported }

func lock(*os.File) error { return errors.ErrUnsupported }

// syncFolder does nothing: folders cannot be synced here.
func syncFolder(*os.Root) error { return nil }
