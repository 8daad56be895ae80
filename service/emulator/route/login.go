package route

import (
	"errors"
	"fmt"

	"zonedeck/service/emulator/account"
	"zonedeck/service/emulator/username"
)

// legacyPrefix is the first word that old clients still send (public documentation).
const legacyPrefix = "lum"

// The reasons to refuse a login, beside [username.ErrForm].
var (
	ErrAccount  = errors.New("unknown account")
	ErrZone     = errors.New("not found") // with the zone's name before it
	ErrPassword = errors.New("wrong password")
)

// Login checks a login name and its password (service.md 5.2) against the account. Any error
// other than those three and [username.ErrForm] is about the flags of a name whose password
// is right; [RefusalOf] words it.
func Login(acc *account.Account, user, password string) (account.Zone, username.Flags, error) {
	name, err := username.Parse(user, func(zone string) bool {
		_, err := acc.Zone(zone)
		return err == nil
	})
	if errors.Is(err, username.ErrForm) {
		return account.Zone{}, username.Flags{}, username.ErrForm
	}
	if name.Prefix != acc.Prefix && name.Prefix != legacyPrefix || name.Account != acc.ID {
		return account.Zone{}, username.Flags{}, ErrAccount
	}
	z, unknown := acc.Zone(name.Zone)
	if unknown != nil {
		return account.Zone{}, username.Flags{}, fmt.Errorf("zone %q %w", name.Zone, ErrZone)
	}
	if !z.Accepts(password) {
		return account.Zone{}, username.Flags{}, ErrPassword
	}
	return z, name.Flags, err
}
