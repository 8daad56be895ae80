package record

import "strings"

// logins masks the passwords of URLs anywhere in a text: clients send webhooks and targets in
// bodies, and escaped in queries.
func logins(text string) string {
	var out strings.Builder
	kept := 0 // the text up to here is written
	for i := 0; i < len(text); {
		if text[i] != ':' && text[i] != '%' {
			i++
			continue
		}
		n, escaped := afterScheme(text[i:])
		if n == 0 {
			i++
			continue
		}
		i += n
		end := endOfAuthority(text, i, escaped)
		if from, to, ok := password(text[i:end], escaped); ok {
			out.WriteString(text[kept : i+from])
			out.WriteString(masked)
			kept = i + to
		}
		i = end
	}
	if kept == 0 {
		return text
	}
	return out.String() + text[kept:]
}

// afterScheme returns the length of a "://" at the beginning of s, 0 without one, and whether
// it is escaped for a query. JSON may escape its slashes, too.
func afterScheme(s string) (n int, escaped bool) {
	const inQuery = "%3a%2f%2f"
	for _, sep := range [...]string{"://", `:\/\/`} {
		if strings.HasPrefix(s, sep) {
			return len(sep), false
		}
	}
	if len(s) >= len(inQuery) && strings.EqualFold(s[:len(inQuery)], inQuery) {
		return len(inQuery), true
	}
	return 0, false
}

// endOfAuthority returns the end of the login, host and port that begin at i.
func endOfAuthority(s string, i int, escaped bool) int {
	for ; i < len(s); i++ {
		switch c := s[i]; c {
		case '/', '?', '#', '"', '\'', '\\', '<', '>', '&', ',', '|', ' ', '\t', '\r', '\n':
			return i
		case '%':
			if !escaped || i+3 > len(s) {
				continue
			}
			switch strings.ToLower(s[i : i+3]) {
			case "%2f", "%3f", "%23", "%22", "%20", "%26", "%7c":
				return i
			}
		}
	}
	return i
}

func password(s string, escaped bool) (from, to int, ok bool) {
	to = strings.LastIndexByte(s, '@')
	if escaped {
		to = max(to, strings.LastIndex(s, "%40"))
	}
	if to < 0 {
		return 0, 0, false
	}
	for i := range to {
		switch {
		case s[i] == ':':
			return i + 1, to, i+1 < to
		case escaped && i+3 <= to && (s[i:i+3] == "%3A" || s[i:i+3] == "%3a"):
			return i + 3, to, i+3 < to
		}
	}
	return 0, 0, false
}
