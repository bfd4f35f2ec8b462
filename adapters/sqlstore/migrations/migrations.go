// Package migrations has the statements that build and change the schema: one file a step, numbered in the order of
// their application. A step that needs other statements on each engine has a file in each engine's folder, any other
// step one file in the folder both. A released file never changes.
package migrations

import (
	"embed"
	"errors"
	"io/fs"
	"slices"
	"strings"
)

//go:embed both sqlite postgres
var folders embed.FS

// SQLiteSchema and PostgresSchema are the schema after most of the migrations, which they note as applied. They are for
// an empty database; the migrations after these are applied as usual.
var (
	//go:embed schema/sqlite.sql
	SQLiteSchema string
	//go:embed schema/postgres.sql
	PostgresSchema string
)

// Files returns the files of an engine, sqlite or postgres, in one folder with those for both.
func Files(engine string) (fs.FS, error) {
	special, err := fs.Sub(folders, engine)
	if err != nil {
		return nil, err
	}
	shared, err := fs.Sub(folders, "both")
	return merged{special, shared}, err
}

// merged shows the files of two folders as one folder.
type merged struct{ first, second fs.FS }

func (m merged) Open(name string) (fs.File, error) {
	f, err := m.first.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return m.second.Open(name)
	}
	return f, err
}

func (m merged) ReadDir(name string) ([]fs.DirEntry, error) {
	first, err := fs.ReadDir(m.first, name)
	if err != nil {
		return nil, err
	}
	second, err := fs.ReadDir(m.second, name)
	all := slices.Concat(first, second)
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, err
}
