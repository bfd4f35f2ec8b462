package db_test

import (
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	core "github.com/atrium-hq/atrium/adapters/sqlstore/db"
)

// BenchmarkBound compares a query of usual length whose placeholders are remembered with one that is parsed each time.
func BenchmarkBound(b *testing.B) {
	query := `SELECT ` + strings.Repeat(`t.column, `, 30) + `t.id FROM things t WHERE t.id = ? AND t.workspace_id = ?`
	b.Run("remembered", func(b *testing.B) {
		bound := core.Bound()
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
