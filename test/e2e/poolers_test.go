package e2e

import (
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/services"
)

func TestPoolers(t *testing.T) {
	t.Parallel()
	// through returns a deployment whose database is reached through PgBouncer.
	throughProxy := func(t *testing.T, mode string) *deployment {
		t.Helper()
		d := deployMigrated(t, postgres)
		set("database.url", services.PgBouncer(t, d.database, mode).URL)(d)
		return d
	}
	t.Run("a server works behind a pooler by session", func(t *testing.T) {
		t.Parallel()
		d := throughProxy(t, "session")
		s := d.start(t)
		ann := s.user(t, "member")
		ann.get(t, ann.template(t, "pooled"))
		ann.get(t, "/api/health/ready")
		if out := s.must(t, "doctor"); strings.Contains(out, "FAILED") {
			t.Errorf("doctor says:\n%s", out)
		}
	})
	t.Run("a server refuses a pooler by transaction with a sentence, and so does doctor", func(t *testing.T) {
		t.Parallel()
		d := throughProxy(t, "transaction")
		const sentence = "pools by transaction, and Atrium needs connections of its own: set pool_mode = session"
		if r := d.run(t, "serve"); r.code != 1 || !strings.Contains(r.stderr, sentence) {
			t.Errorf("serve ended with %d: %s", r.code, r.stderr)
		}
		if r := d.run(t, "doctor"); r.code != 1 || !strings.Contains(r.stdout, "FAILED  database") ||
			!strings.Contains(r.stdout, sentence) {
			t.Errorf("doctor ended with %d: %s", r.code, r.stdout)
		}
	})
}
