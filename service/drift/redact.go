package drift

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"zonedeck/model"
)

// secret reports whether the value of what has this name is not kept. Of the pages and rows of others a session is a
// login; in zonedeck's own words it is a name that the operator chose.
func secret(name string) bool {
	return model.SecretName(name) || slices.Contains([]string{"session", "sid", "phpsessid"}, strings.ToLower(name))
}

// plain is a text without what must not be kept, of a row and of a page alike: the value of what has a secret's name, which
// name or an equals sign gives it, Bearer and Basic values, and the logins of addresses.
func plain(name, s string) string {
	if secret(name) {
		return model.Masked
	}
	s = schemes.ReplaceAllString(strings.ToValidUTF8(s, "�"), "$1 "+model.Masked)
	return model.Cut(maskValues(maskLogins(s)), sampleText)
}

// They are found anywhere in a text: the words of a header, an address, and a name before an equals sign.
var (
	schemes   = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[^\s,;"']{4,}`)
	addresses = regexp.MustCompile(`[A-Za-z0-9+.-]*://[^\s"'<>]*`)
	named     = regexp.MustCompile(`([^\s?&#=;,"'(){}<>\[\]]{1,100})=`)
)

// maskLogins masks the logins of addresses. From one that cannot be read on, all is masked that has the signs of one.
func maskLogins(s string) string {
	var b strings.Builder
	for {
		at := addresses.FindStringIndex(s)
		if at == nil {
			return b.String() + s
		}
		b.WriteString(s[:at[0]])
		address := s[at[0]:at[1]]
		u, err := url.Parse(address)
		if err != nil || u.Host == "" {
			return b.String() + maskSigns(s[at[0]:])
		}
		if u.User != nil {
			scheme, rest, _ := strings.Cut(address, "://")
			authority := rest
			if end := strings.IndexAny(rest, "/?#"); end >= 0 {
				authority = rest[:end]
			}
			address = scheme + "://xxxxx" + rest[strings.LastIndex(authority, "@"):]
		}
		b.WriteString(address)
		s = s[at[1]:]
	}
}

// maskSigns masks what may be a login, or else the parameters.
func maskSigns(s string) string {
	i := strings.IndexAny(s, "@?#")
	switch {
	case i < 0:
		return s
	case s[i] == '@':
		return model.Masked + s[strings.LastIndex(s, "@"):]
	default:
		return s[:i+1] + model.Masked
	}
}

// maskValues masks what is given a secret's name by an equals sign, up to the next parameter or space.
func maskValues(s string) string {
	var b strings.Builder
	for {
		at := named.FindStringSubmatchIndex(s)
		if at == nil {
			return b.String() + s
		}
		b.WriteString(s[:at[1]])
		name, err := url.QueryUnescape(s[at[2]:at[3]])
		s = s[at[1]:]
		if err == nil && !secret(name) {
			continue
		}
		end := strings.IndexAny(s, " \t\r\n&#")
		if quote := strings.IndexAny(s, `"'`); quote == 0 { // of a text in quotes all
			end = strings.IndexByte(s[1:], s[0]) + 1
		}
		b.WriteString("xxxxx")
		if end <= 0 {
			return b.String()
		}
		s = s[end:]
	}
}
