package service

import (
	"errors"
	"testing"

	"zonedeck/keystore"
)

func TestAReferenceToASecretThatIsNotThereIsRefused(t *testing.T) {
	s := &Service{Resolver: keystore.NewResolver(keystore.ResolverOptions{
		SecretsDir: t.TempDir(), Getenv: func(string) string { return "" },
	})}
	if err := s.stored(t.Context(), "file:unl"); !errors.Is(err, keystore.ErrSecretMissing) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := s.Resolver.Store(t.Context(), "file:unl", keystore.NewSecret("some-value")); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"file:unl", "env:SET_LATER", ""} {
		if err := s.stored(t.Context(), ref); err != nil {
			t.Errorf("%q: %v", ref, err)
		}
	}
}
