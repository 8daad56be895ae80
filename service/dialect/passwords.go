package dialect

import (
	"encoding/json"
	"net/http"
)

// PasswordCall is a call that changes the passwords of a zone. Its body holds one.
type PasswordCall struct {
	Method, Path string
	Body         []byte
}

// passwordPaths are where a zone's passwords are changed.
type passwordPaths struct{ add, remove string }

// ChangesPasswords reports whether the dialect knows how a zone gets another password. The
// contract shows no such call.
func (d Dialect) ChangesPasswords() bool { return d.passwords != passwordPaths{} }

// WithPasswords names the dialects that know how a zone gets another password, quoted.
func WithPasswords() string { return quoted(Dialect.ChangesPasswords) }

// AddPassword is the call that lets a zone accept value besides its other passwords.
func (d Dialect) AddPassword(zone, value string) PasswordCall {
	return passwordCall(d.passwords.add, zone, value)
}

// RemovePassword is the call after which a zone does not accept value any more.
func (d Dialect) RemovePassword(zone, value string) PasswordCall {
	return passwordCall(d.passwords.remove, zone, []string{value})
}

func passwordCall(path, zone string, password any) PasswordCall {
	body, _ := json.Marshal(map[string]any{"zone": zone, "password": password}) // strings always encode
	return PasswordCall{Method: http.MethodPost, Path: path, Body: body}
}
