package keystore

import (
	"errors"
	"strings"
	"testing"
)

func TestAHeaderIsNoKey(t *testing.T) {
	for value, ok := range map[string]bool{
		"":                                    true,
		"0123456789abcdef":                    true,
		"bearer-of-news":                      true,
		"BearerToken":                         true,
		"Bearer 0123456789abcdef":             false,
		"bearer  0123456789abcdef":            false,
		"Authorization: Bearer 0123456789":    false,
		"\"authorization:Bearer 0123456789\"": false,
		"Authorization: 0123456789":           false,
	} {
		err := CheckKeyValue(NewSecret(value))
		if (err == nil) != ok || err != nil && (!errors.Is(err, ErrKeyValue) || strings.Contains(err.Error(), "0123456789")) {
			t.Errorf("%q: %v", value, err)
		}
	}
}
