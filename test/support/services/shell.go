package services

import "testing"

// Shell returns the path of a shell: bash, fish or zsh. Where there is none, root on Debian installs it.
func Shell(t testing.TB, name string) string {
	t.Helper()
	path, err := installed(name, name)
	if err != nil {
		t.Fatalf("this test needs %s: %v\nInstall it (Debian: apt-get install %[1]s).", name, err)
	}
	return path
}
