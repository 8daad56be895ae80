package jobs

import (
	"slices"
	"strings"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
)

// fieldAuth names the authorization of a job's addresses in errors.
const fieldAuth = "auth_header"

// refuseAuth reports why the service must not send what a reference refers to along to a job's
// addresses: keys and passwords of the console are only for the service. Nothing is resolved.
func (rn *Runner) refuseAuth(p config.Profile, ref string) error {
	if ref == "" {
		return nil
	}
	parsed, err := keystore.ParseRef(ref)
	if err != nil {
		return model.BadField(fieldAuth, "%w", err)
	}
	password := slices.ContainsFunc(p.Zones, func(z model.Zone) bool { return z.Password == ref })
	if password || rn.cfg.Inventory != nil && rn.cfg.Inventory.MayBeKey(ref) || strings.HasPrefix(ref, "env:ZONEDECK_") || parsed.Scheme() == keystore.SchemeDemo {
		return errOwn(parsed)
	}
	return nil
}

func errOwn(ref keystore.Ref) error {
	return model.BadField(fieldAuth, "%s is a key or a password of the console, which goes to no address of a job: give a secret of the receiver", ref.Label())
}
