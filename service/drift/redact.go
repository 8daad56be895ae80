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

// textRead is how many bytes of a text are read and masked: more than enough for the sampleText bytes that are kept.
const textRead = 8 << 10

// plain is a text without what must not be kept, of a row and of a page alike: the value of what has a secret's name, which
// name or an equals sign gives it, Bearer and Basic values, and the logins of addresses.
func plain(name, s string) string {
	if secret(name) {
		return model.Masked
	}
	s = schemes.ReplaceAllString(strings.ToValidUTF8(model.Beginning(s, textRead), "�"), "$1 "+model.Masked)
	return model.Cut(maskValues(maskLogins(s)), sampleText)
}

// They are found anywhere in a text: the words of a header, and an address.
var (
	schemes   = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[^\s,;"']{4,}`)
	addresses = regexp.MustCompile(`[A-Za-z0-9+.-]*://[^\s"'<>]*`)
)

// maskLogins masks the logins of addresses. Of one that cannot be read all is masked behind its scheme, and
// where there is an at sign behind it, all up to the last one: a password may have blanks.
func maskLogins(s string) string {
	var b strings.Builder
	for {
		at := addresses.FindStringIndex(s)
		if at == nil {
			return b.String() + s
		}
		b.WriteString(s[:at[0]])
		address := s[at[0]:at[1]]
		scheme, rest, _ := strings.Cut(address, "://")
		u, err := url.Parse(address)
		switch last := strings.LastIndexByte(s, '@'); {
		case (err != nil || u.Host == "") && last >= at[0]:
			return b.String() + model.Masked + s[last:]
		case err != nil:
			address = scheme + "://xxxxx"
		case u.User != nil:
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

// nameEnds are the bytes that end the name of a value, backwards from its equals sign; maxName is how many bytes are looked at.
const (
	nameEnds = " \t\r\n\f?&#=;,\"'(){}<>[]"
	maxName  = 100
)

// maskValues masks values that follow a secret's name and an equals sign, up to the next parameter or space.
func maskValues(s string) string {
	var b strings.Builder
	for {
		equals := strings.IndexByte(s, '=')
		if equals < 0 {
			return b.String() + s
		}
		name := s[max(0, equals-maxName):equals]
		name, err := url.QueryUnescape(name[strings.LastIndexAny(name, nameEnds)+1:])
		b.WriteString(s[:equals+1])
		s = s[equals+1:]
		if err == nil && !secret(name) {
			continue
		}
		value := strings.TrimLeft(s, " \t")
		b.WriteString(s[:len(s)-len(value)])
		end := strings.IndexAny(value, " \t\r\n&#")
		if strings.HasPrefix(value, `"`) || strings.HasPrefix(value, "'") { // of a text in quotes all
			if end = strings.IndexByte(value[1:], value[0]); end >= 0 {
				end++
			}
		}
		if end < 0 {
			end = len(value)
		}
		if end > 0 {
			b.WriteString("xxxxx")
		}
		s = value[end:]
	}
}
