package sqlstore_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	sqldb "github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestUploadsThatReceiveNothingForADayAreSwept(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		ctx := t.Context()
		db, by, _ := withConnection(t, url)
		files := db.Stores().SourceFiles
		day := by.At.Add(source.UploadKept)
		add := func(ranges ...source.FileRange) source.FileID {
			f, err := source.NewFile(by, "people.csv", 9<<20)
			require.NoError(t, err)
			f.Key = []byte("key")
			for _, r := range ranges {
				require.NoError(t, f.Receive(by, r, "part"))
			}
			require.NoError(t, files.Add(ctx, by, f))
			return f.ID
		}
		whole, begun := source.FileRange{Bytes: 1, Total: 1}, source.FileRange{Bytes: 8 << 20, Total: 9 << 20}
		incomplete, complete, replaced := add(begun), add(whole), add(whole, begun)

		require.NoError(t, db.Sweep(ctx, day, time.Hour))
		for _, id := range []source.FileID{incomplete, complete, replaced} {
			if _, err := files.Get(ctx, by.Workspace, id); err != nil {
				t.Errorf("within the day: %v", err)
			}
		}
		require.NoError(t, db.Sweep(ctx, day.Add(time.Second), time.Hour))
		if _, err := files.Get(ctx, by.Workspace, incomplete); !errors.Is(err, source.ErrFileNotFound) {
			t.Errorf("an incomplete file: %v", err)
		}
		for _, id := range []source.FileID{complete, replaced} {
			f, err := files.Get(ctx, by.Workspace, id)
			require.NoError(t, err)
			if f.Content.Size != 1 || f.Pending.Size != 0 || len(f.Pending.Parts) > 0 || !f.PendingAt.IsZero() {
				t.Errorf("%+v", f)
			}
		}
	})
}

func TestResealSealsTheKeysOfUploadedFiles(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		ctx := t.Context()
		db, by, _ := withConnection(t, url)
		f, err := source.NewFile(by, "people.csv", 1)
		require.NoError(t, err)
		f.Key = []byte("file key")
		require.NoError(t, db.Stores().SourceFiles.Add(ctx, by, f))
		require.NoError(t, db.Reseal(ctx, &sqldb.Resealing{
			Rewrap:   func(sealed []byte) ([]byte, error) { return slices.Concat([]byte("fresh "), sealed), nil },
			Bind:     unbound,
			Progress: func(sqldb.Resealed) {},
		}))
		got, err := db.Stores().SourceFiles.Get(ctx, by.Workspace, f.ID)
		if err != nil || string(got.Key) != "fresh file key" {
			t.Errorf("%q, %v", got.Key, err)
		}
	})
}
