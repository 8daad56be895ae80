package model

import "testing"

func TestARenewalSaysWhichPasswordCounts(t *testing.T) {
	steps := func(names ...string) (out []PasswordStep) {
		for _, n := range names {
			out = append(out, PasswordStep{Name: n[1:], OK: n[0] == '+'})
		}
		return out
	}
	for want, all := range map[string][]PasswordRenewal{
		"the old password stays": {
			{}, {Steps: steps("-store")}, {Steps: steps("+store", "-add")}, {Steps: steps("+store", "+add", "-prove", "+undo")}, {Steps: steps("-add", "+undo")},
		},
		"the old password stays; the new one may be valid beside it": {
			{Steps: steps("+add", "-prove", "-undo")}, {Steps: steps("-add", "-undo")}, {Steps: steps("+add", "+prove", "-remove")}, {Steps: steps("+add")},
		},
		"the old password was removed; the new one was not seen behind its reference":         {{Steps: steps("+add", "+prove", "+remove", "-keep")}},
		"the new password is in use; the old one may still be valid":                          {{Renewed: true, Steps: steps("+add", "+prove", "+keep", "-remove")}},
		"the new password is in use; the old one was removed, and was not seen to be refused": {{Renewed: true, Steps: steps("+add", "+prove", "+keep", "+remove", "-refused")}},
		"the new password is in use, and the old one was seen to be refused":                  {{Renewed: true, OldRefused: true, Steps: steps("+remove", "+refused")}},
	} {
		for _, r := range all {
			if got := r.Standing(); got != want {
				t.Errorf("%+v: %q, want %q", r, got, want)
			}
		}
	}
}
