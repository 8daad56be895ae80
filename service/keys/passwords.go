package keys

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"zonedeck/keystore"
	"zonedeck/model"
	"zonedeck/service/config"
	"zonedeck/service/dialect"
	"zonedeck/service/exchange"
	"zonedeck/service/radius"
	"zonedeck/service/rotate"
)

// OfPassword is the rotation of a zone's password. key changes it; empty means the profile's key.
func (Rotations) OfPassword(p model.Profile, z model.Zone, key string) RotationSubject {
	w := &rotate.Password{Zone: z, Account: p.Account, Key: cmp.Or(key, p.Key)}
	if d, err := dialect.Find(p.Dialect); err == nil && !d.ChangesPasswords() { // a person does
		w.Key = ""
	}
	if p.Local {
		w.Profile = p.Name
	}
	return RotationSubject{Password: w}
}

// PasswordChanged is the end of the newest rotation that changed a zone's password; zero if none is on record.
func (r Rotations) PasswordChanged(p model.Profile, z model.Zone) (time.Time, error) {
	plans, err := r.ForKey(keystore.PasswordOf + string(z.Name))
	for _, plan := range plans {
		if plan.OfZone(string(p.Account), string(z.Name)) && plan.Over() && !plan.Undone && plan.HasTakenOver() {
			return plan.Ended, err
		}
	}
	return time.Time{}, err
}

// ZonePassword is OfPassword for a zone of the profile in use, by the zone's name.
func (r Rotations) ZonePassword(zone, key string) (RotationSubject, error) {
	p := r.ks.cfg.Profiles.Profile()
	z, ok := p.Zone(zone)
	if !ok {
		return RotationSubject{}, fmt.Errorf("profile %s has no zone %s", p.Name, zone)
	}
	return r.OfPassword(p, z, key), nil
}

// AccountText says whose a rotation is: "account hl_1, profile acme, https://api.example.com".
func (r Rotations) AccountText(plan keystore.RotationPlan) string {
	i := slices.IndexFunc(plan.Users, func(u keystore.RotationUser) bool { return u.Profile != "" })
	home, known := plan.Home()
	switch {
	case known:
	case i < 0:
		return "no profile uses it"
	default:
		home = plan.Users[i]
	}
	p, err := r.ks.cfg.Profiles.Named(home.Profile)
	if err != nil {
		return "profile " + home.Profile
	}
	account := "account " + string(p.Account)
	if p.Account == "" {
		account = "an account that the profile does not name"
	}
	return account + ", profile " + p.Name + ", " + cmp.Or(p.BaseURL, "without a base_url")
}

// zonePasswords changes and proves the passwords of zones; see rotate.Passwords.
type zonePasswords struct{ r Rotations }

// place is the profile and the zone for a rotation's calls: the recorded profile, or the profile in use
// before the rotation has begun.
func (w zonePasswords) place(ctx context.Context, r keystore.RotationPlan) (model.Profile, model.Zone, error) {
	home, known := r.Home()
	p, err := w.r.ks.Profile(ctx) // this may start the emulator
	if err == nil && known && home.Profile != p.Name {
		p, err = w.r.ks.cfg.Profiles.Named(home.Profile)
	}
	if err != nil {
		return p, model.Zone{}, err
	}
	return w.zoneOf(r, p, r.Ref)
}

// zoneOf is the zone of a rotation in a profile. If the profile has no reference for its password, it gets ref.
func (w zonePasswords) zoneOf(r keystore.RotationPlan, p model.Profile, ref string) (model.Profile, model.Zone, error) {
	z, ok := p.Zone(r.Zone)
	switch {
	case string(p.Account) != r.Account:
		return p, z, fmt.Errorf("profile %s is of another account than zone %s", p.Name, r.Zone)
	case !ok: // a zone that was named only on the command line
		z = model.Zone{Name: model.ZoneName(r.Zone)}
	}
	if z.Password == "" {
		z.Password = ref
	}
	return p, z, config.RefuseLogin(p, z)
}

func (w zonePasswords) Check(ctx context.Context, r keystore.RotationPlan) error {
	p, z, err := w.place(ctx, r)
	if err != nil {
		return err
	}
	return w.r.passwords.Check(ctx, p, z, r.ChangedBy)
}

func (zonePasswords) Make() keystore.Secret { return keystore.NewSecret(rand.Text()) }

func (w zonePasswords) Add(ctx context.Context, r keystore.RotationPlan, value keystore.Secret) error {
	p, _, err := w.place(ctx, r)
	if err != nil {
		return err
	}
	return w.r.passwords.Add(ctx, p, r.Zone, r.ChangedBy, value)
}

func (w zonePasswords) Remove(ctx context.Context, r keystore.RotationPlan, value keystore.Secret) error {
	p, _, err := w.place(ctx, r)
	if err != nil {
		return err
	}
	return w.r.passwords.Remove(ctx, p, r.Zone, r.ChangedBy, value)
}

func (w zonePasswords) Login(ctx context.Context, r keystore.RotationPlan, u keystore.RotationUser, l exchange.LoginProof) (keystore.Proof, error) {
	p, z, err := w.place(ctx, r)
	if err == nil && u.Profile != "" && u.Profile != p.Name {
		if p, err = w.r.ks.cfg.Profiles.Named(u.Profile); err == nil {
			p, z, err = w.zoneOf(r, p, u.Ref)
		}
	}
	if err != nil {
		return keystore.Proof{}, err
	}
	return w.r.passwords.Login(ctx, p, z, l)
}

func (w zonePasswords) Leads(ctx context.Context, ref string, value keystore.Secret) error {
	return w.r.passwords.Leads(ctx, ref, value)
}

// Users is the password's blast radius. A zone may have several passwords at once: users of another
// password are left out.
func (w zonePasswords) Users(ctx context.Context, r keystore.RotationPlan) ([]keystore.RotationUser, error) {
	p, z, err := w.place(ctx, r)
	if err != nil {
		return nil, err
	}
	subject := radius.ZoneSubject(p, z)
	subject.Fingerprint, subject.Last4 = r.OldFingerprint, r.OldLast4
	uses, err := w.r.search(ctx, subject)
	if err != nil {
		return nil, err
	}
	var out []keystore.RotationUser
	for _, use := range uses {
		u := w.r.user(use, model.Key{Secret: z.Password, Fingerprint: r.OldFingerprint})
		u.Zone = r.Zone
		switch use.Kind {
		case radius.Profile:
			u.Reason = ""
			if other, err := w.r.ks.cfg.Profiles.Named(use.Name); err != nil {
				u.Reason = err.Error()
			} else if other.Account != p.Account || other.BaseURL != p.BaseURL {
				u.Reason = "its profile is of another account, which may not see the password"
			} else {
				u.Reason = cmp.Or(use.Unmeasured, noLogin(other))
			}
		default:
			u.Profile, u.Reason = p.Name, cmp.Or(u.Reason, noLogin(p))
		}
		if u.Ref != "" {
			if value, err := w.r.ks.cfg.Resolver.Resolve(ctx, u.Ref); err == nil && value.Fingerprint() != r.OldFingerprint {
				continue
			}
		}
		out = append(out, u)
	}
	return out, nil
}

// noLogin is why no login shows whether a password is accepted; empty if one does.
func noLogin(p model.Profile) string {
	switch {
	case p.ProxyHost == "":
		return "profile " + p.Name + " has no proxy_host to log in at"
	case p.Can.TestPage(p) == "":
		return p.LacksTestPage()
	}
	return ""
}
