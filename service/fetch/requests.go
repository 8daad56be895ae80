package fetch

import "zonedeck/service/saved"

// SavedRequest is a request on this machine's disk; see saved.
type SavedRequest = saved.Entry

// MaxDeletedRequests is how many deleted ones are kept.
const MaxDeletedRequests = saved.MaxDeleted

// ErrNoneDeleted says that no request was deleted.
var ErrNoneDeleted = saved.ErrNoneDeleted

// CheckRequestName says why a request cannot have a name, or is nil.
func CheckRequestName(name string) error { return saved.CheckName(name) }
