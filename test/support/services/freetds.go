package services

import "testing"

// TSQL returns the program tsql of FreeTDS, a client of SQL Server.
func TSQL(t testing.TB) string {
	t.Helper()
	bin, err := installed("tsql", "freetds-bin")
	if err != nil {
		t.Fatalf("this test needs tsql: %v\nInstall it (Debian: apt-get install freetds-bin).", err)
	}
	return bin
}
