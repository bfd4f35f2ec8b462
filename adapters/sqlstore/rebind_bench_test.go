package sqlstore_test

import (
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
)

// BenchmarkBound compares a query of usual length whose placeholders are remembered with one that is parsed each time.
func BenchmarkBound(b *testing.B) {
	query := sqlstore.ChatQuery
	b.Run("remembered", func(b *testing.B) {
		bound := sqlstore.Bound()
		b.ReportAllocs()
		for b.Loop() {
			bound(query)
		}
	})
	b.Run("parsed each time", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sqlx.Rebind(sqlx.DOLLAR, query)
		}
	})
}
