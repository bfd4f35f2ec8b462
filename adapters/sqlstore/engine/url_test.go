package engine

import (
	"net/url"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

func TestNormalURL(t *testing.T) {
	for raw, want := range map[string]string{
		"postgres://u:p%40@h1:5433,h2:5434/db":     "postgres://u:p%40@h1,h2/db?port=5433%2C5434",
		"postgres://h1,h2:5434/db?sslmode=disable": "postgres://h1,h2/db?port=5432%2C5434&sslmode=disable",
		"postgres://h1:5433/db":                    "postgres://h1:5433/db",
		"postgres://h1,h2/db?port=1,2":             "postgres://h1,h2/db?port=1,2",
		"mysql://%zz":                              "mysql://%zz",
	} {
		assert.Equal(t, raw+": becomes", NormalURL(raw), want)
	}
}

func TestPrimaryURL(t *testing.T) {
	for raw, want := range map[string]string{
		"postgres://u:p%40@h1/db":                          "postgres://u:p%40@h1/db?target_session_attrs=primary",
		"postgres://h1,h2/db?target_session_attrs=any":     "postgres://h1,h2/db?port=5432%2C5432&target_session_attrs=primary",
		"postgres://h1/db?target_session_attrs=read-write": "postgres://h1/db?target_session_attrs=read-write",
		"mysql://%zz": "mysql://%zz",
	} {
		assert.Equal(t, raw+": becomes", PrimaryURL(raw), want)
	}
}

func TestPostgresConnectsToTheHostThatListens(t *testing.T) {
	u, err := url.Parse(services.Postgres(t))
	require.NoError(t, err)
	u.Host = "127.0.0.1:1," + u.Host
	db := pool(t, connector(t, u.String(), 5*time.Second))
	if got := scan[int](t, db.QueryRowContext(t.Context(), `SELECT 1`)); got != 1 {
		t.Errorf("got %d", got)
	}
}
