package services_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/go-sql-driver/mysql"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

func TestStartMariaDB(t *testing.T) {
	server, err := services.StartMariaDB(map[string]string{"max_connections": "23", "init_file": "@/first"},
		map[string]string{"first": "CREATE DATABASE made;\n"})
	require.NoError(t, err)
	defer server.Stop()
	db, err := sql.Open("mysql", server.URL)
	require.NoError(t, err)
	defer db.Close()
	assert.Equal(t, "max_connections", query(t, db, `SELECT @@max_connections`), "23")
	if got := query(t, db, `SELECT count(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'made'`); got != "1" {
		t.Error("the file beside the data was not read")
	}
	folder := filepath.Dir(query(t, db, `SELECT @@socket`))
	server.Stop()
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Stop, folder %s: %v", folder, err)
	}
}
