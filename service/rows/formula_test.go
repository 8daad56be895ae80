package rows

import "testing"

func TestFormulasAreDefused(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a=1": "a=1", "=1+1": "'=1+1", "@x": "'@x", "\tx": "'\tx", "\rx": "'\rx", "\nx": "'\nx", "-x": "'-x", "+1+1": "'+1+1",
		"-1-1": "'-1-1", "-Inf": "'-Inf", "+0x1": "'+0x1", "-3": "-3", "+4.5e-6": "+4.5e-6", "-": "'-", "'=1": "'=1", "'x": "'x",
	} {
		got, defused := Defuse(text)
		if got != want || defused != (got != text) {
			t.Errorf("%q is %q, %t; want %q", text, got, defused, want)
		}
		if back := Fused(got); defused && back != text || !defused && text != "'=1" && back != text {
			t.Errorf("%q comes back as %q", got, back)
		}
	}
}
