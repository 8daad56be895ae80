package record

import (
	"strings"
	"testing"
)

func TestPasswordsOfAddressesAreMaskedWhereverTheyStand(t *testing.T) {
	for in, want := range map[string]string{
		"http://u:hunter2@h.test/n":                                              "http://u:****@h.test/n",
		"/t?notify=http://u:hunter2@h.test/n&x=1":                                "/t?notify=http://u:****@h.test/n&x=1",
		"/t?notify=http%3A%2F%2Fu%3Ahunter2%40h.test%2Fn&x=1":                    "/t?notify=http%3A%2F%2Fu%3A****%40h.test%2Fn&x=1",
		"/t?notify=https%3a%2f%2fu:hunt%2540er2@h.test&x=1":                      "/t?notify=https%3a%2f%2fu:****@h.test&x=1",
		`[{"url":"http://u:hunter2@h.test/"},{"url":"http://v:hunter2@h.test"}]`: `[{"url":"http://u:****@h.test/"},{"url":"http://v:****@h.test"}]`,
		`{"url":"http:\/\/u:hunter2@h.test\/"}`:                                  `{"url":"http:\/\/u:****@h.test\/"}`,
		"url\nhttp://u:hunter2@h.test,2\n":                                       "url\nhttp://u:****@h.test,2\n",
		"http://u:hunt:er2@h.test":                                               "http://u:****@h.test",
		"http://h.test:8080/a@b":                                                 "http://h.test:8080/a@b",
		"http://h.test:8080/?mail=me@x.test":                                     "http://h.test:8080/?mail=me@x.test",
		"http://user@h.test/":                                                    "http://user@h.test/",
		"a%3A%2F%2F":                                                             "a%3A%2F%2F",
		"://@":                                                                   "://@",
		"://:@":                                                                  "://:@",
	} {
		if got := logins(in); got != want {
			t.Errorf("%s\nbecame %s\nnot    %s", in, got, want)
		}
	}
	if got := address("http://127.0.0.1:1/t?endpoint=http%3A%2F%2Fu%3Ahunter2%40h%2F"); strings.Contains(got, "hunter2") {
		t.Errorf("address %s", got)
	}
}
