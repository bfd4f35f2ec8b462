package sources_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// reversed seals by reversing, and opens only for the same associated data.
type reversed struct{}

func (reversed) Seal(plain, place []byte) ([]byte, error) {
	sealed := slices.Clone(plain)
	slices.Reverse(sealed)
	return slices.Concat(place, sealed), nil
}

func (reversed) Open(sealed, place []byte) ([]byte, error) {
	text, ok := bytes.CutPrefix(sealed, place)
	if !ok {
		return nil, errors.New("another place")
	}
	plain := slices.Clone(text)
	slices.Reverse(plain)
	return plain, nil
}

// fileOf returns ann's file, whose content has a size; none if it is 0.
func fileOf(t *testing.T, size int64) *source.File {
	t.Helper()
	f, err := source.NewFile(owner, "people.csv", max(size, 1))
	require.NoError(t, err)
	f.Key, err = reversed{}.Seal([]byte("key"), f.KeyPlace())
	require.NoError(t, err)
	if size > 0 {
		require.NoError(t, f.Receive(owner, source.FileRange{Bytes: size, Total: size}, "old"))
	}
	return f
}

// expectFile expects changes of a file, each on a copy.
func (s *env) expectFile(f *source.File) {
	s.files.EXPECT().Update(gomock.Any(), acme, f.ID, gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.WorkspaceID, _ source.FileID, change func(*source.File) error) (*source.File,
			error) {
			c := *f
			return &c, change(&c)
		})
	s.files.EXPECT().Get(gomock.Any(), acme, f.ID).AnyTimes().Return(f, nil)
}

// expectChanges expects a number of transactions.
func (s *env) expectChanges(count int) {
	for range count {
		s.expectAtomic()
	}
}

func TestAContentIsStoredBeforeItsFile(t *testing.T) {
	s := newEnv(t)
	s.expectChanges(2)
	s.files.EXPECT().Add(gomock.Any(), owner, gomock.Any()).Times(2)
	var partID string
	s.parts.EXPECT().Put(gomock.Any(), acme, gomock.Any(), gomock.Any(), gomock.Len(32), []byte("content")).DoAndReturn(
		func(_ context.Context, _ identity.WorkspaceID, _ source.FileID, part string, _, _ []byte) error {
			partID = part
			return nil
		})
	f, err := s.NewFile(s.ctx, owner, "people.csv", 0, []byte("content"))
	require.NoError(t, err)
	require.NoError(t, s.AddFile(s.ctx, owner, f))
	if f.Content.Size != 7 || !slices.Equal(f.Content.Parts, []source.FilePart{{ID: partID, Bytes: 7}}) ||
		f.Pending.Size != 0 {
		t.Errorf("%+v", f)
	}
}

func TestNothingIsWrittenForAFileThatIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		used int64
		full bool
		want error
	}{
		"a viewer's":          {viewer, 0, false, source.ErrForbidden},
		"beyond the quota":    {owner, 1001, false, quota.ErrExceeded},
		"one file too many":   {owner, 0, true, source.ErrFileLimit},
		"and an outage stays": {owner, 0, false, errOutage},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			s.used.StorageBytes = tt.used
			if !errors.Is(tt.want, source.ErrForbidden) {
				s.expectChanges(1)
				var err error
				if tt.full || errors.Is(tt.want, errOutage) {
					err = tt.want
				}
				s.files.EXPECT().Add(gomock.Any(), owner, gomock.Any()).Return(err)
			}
			_, err := s.NewFile(s.ctx, tt.by, "people.csv", 0, []byte("content"))
			assert.ErrorIs(t, err, tt.want)
		})
	}
	t.Run("a part's", func(t *testing.T) {
		f := fileOf(t, 10)
		for _, tt := range []struct {
			by    identity.Actor
			place source.FileRange
			used  int64
			want  error
		}{
			{peer, source.FileRange{Bytes: 3, Total: 3}, 0, source.ErrFileForbidden},
			{owner, source.FileRange{First: 1, Bytes: 2, Total: 3}, 0, source.ErrFileOffset},
			{owner, source.FileRange{Bytes: 3, Total: 3}, 1001, quota.ErrExceeded},
		} {
			s := newEnv(t)
			s.used.StorageBytes = tt.used
			if !errors.Is(tt.want, source.ErrFileForbidden) {
				s.expectChanges(1)
			}
			s.expectFile(f)
			_, err := s.StorePart(s.ctx, tt.by, f.ID, tt.place, []byte("new"))
			assert.ErrorIs(t, err, tt.want)
		}
	})
}

func TestAReplacedContentRefreshesItsReaders(t *testing.T) {
	s := newEnv(t)
	f := fileOf(t, 10)
	s.expectFile(f)
	s.expectChanges(2)
	place := source.FileRange{Bytes: 3, Total: 3}
	s.parts.EXPECT().Put(gomock.Any(), acme, f.ID, gomock.Any(), []byte("key"), []byte("new"))
	part, err := s.StorePart(s.ctx, owner, f.ID, place, []byte("new"))
	require.NoError(t, err)

	s.files.EXPECT().Readers(gomock.Any(), acme, f.ID).Return([]source.Summary{{ID: "paused"}, {ID: "src"}}, nil)
	s.sources.EXPECT().Update(gomock.Any(), acme, source.ID("paused"), gomock.Any()).Return(nil, source.ErrPaused)
	s.expectUpdate(stored(t, sheetAt))
	s.expectQueued(0)
	s.parts.EXPECT().Remove(gomock.Any(), acme, f.ID, "old")
	got, err := s.AcceptPart(s.ctx, owner, f.ID, place, part)
	require.NoError(t, err)
	assert.EqualSlice(t, "parts", got.Content.Parts, []source.FilePart{{ID: part, Bytes: 3}})
}

func TestAPartThatLosesARaceIsRemoved(t *testing.T) {
	s := newEnv(t)
	f := fileOf(t, 10)
	s.expectFile(f)
	s.expectChanges(1)
	s.parts.EXPECT().Remove(gomock.Any(), acme, f.ID, "late")
	_, err := s.AcceptPart(s.ctx, owner, f.ID, source.FileRange{First: 5, Bytes: 5, Total: 10}, "late")
	assert.ErrorIs(t, err, source.ErrFileOffset)

	t.Run("but not after an outage, after which the change may be made again", func(t *testing.T) {
		s := newEnv(t)
		s.expectChanges(1)
		s.files.EXPECT().Update(gomock.Any(), acme, f.ID, gomock.Any()).Return(nil, errOutage)
		_, err := s.AcceptPart(s.ctx, owner, f.ID, source.FileRange{Bytes: 5, Total: 5}, "late")
		assert.ErrorIs(t, err, errOutage)
	})
}

func TestAFileIsRemovedOnlyWhileNoSourceReadsIt(t *testing.T) {
	f := fileOf(t, 10)
	for _, tt := range []struct {
		readers []source.Summary
		want    error
	}{{nil, nil}, {[]source.Summary{{ID: "src", Workspace: acme}}, source.ErrFileInUse}} {
		s := newEnv(t)
		s.expectFile(f)
		s.expectChanges(1)
		s.files.EXPECT().Readers(gomock.Any(), acme, f.ID).Return(tt.readers, nil)
		if tt.want == nil {
			s.parts.EXPECT().Remove(gomock.Any(), acme, f.ID)
		}
		assert.ErrorIs(t, s.RemoveFile(s.ctx, owner, f.ID, nil), tt.want)
	}
}

func TestAnUploadedFileIsReadWithItsKey(t *testing.T) {
	f := fileOf(t, 10)
	location := source.SheetLocation{URL: f.URL()}
	preview := func(s *env) error {
		_, err := s.PreviewSheet(s.ctx, owner, "", location, 2, "")
		return err
	}
	t.Run("which only the reader gets", func(t *testing.T) {
		s := newEnv(t)
		s.expectFile(f)
		s.sheets.EXPECT().Preview(gomock.Any(), acme, gomock.Any()).DoAndReturn(func(_ context.Context,
			_ identity.WorkspaceID, target ports.SheetTarget) (source.Sheet, error) {
			if k := target.Stored; k == nil || k.ID != f.ID || string(k.Key) != "key" || k.Name != "people.csv" ||
				!slices.Equal(k.Parts, f.Content.Parts) {
				t.Errorf("%+v", target.Stored)
			}
			return aSheet(), nil
		})
		require.NoError(t, preview(s))
	})
	t.Run("not before it is complete", func(t *testing.T) {
		s := newEnv(t)
		incomplete := fileOf(t, 0)
		incomplete.ID = f.ID
		s.expectFile(incomplete)
		assert.ErrorIs(t, preview(s), source.ErrSheetNotFound)
	})
	t.Run("not as the file of another workspace, or of the operator's folder", func(t *testing.T) {
		s := newEnv(t)
		s.files.EXPECT().Get(gomock.Any(), acme, f.ID).Return(nil, source.ErrFileNotFound)
		assert.ErrorIs(t, preview(s), source.ErrSheetNotFound)
	})
	t.Run("and cannot be attached while it is removed", func(t *testing.T) {
		s := newEnv(t)
		s.expectChanges(1)
		s.files.EXPECT().Update(gomock.Any(), acme, f.ID, gomock.Any()).Return(nil, source.ErrFileNotFound)
		_, err := s.Attach(s.ctx, owner, source.Draft{Type: "people", Location: source.Location{Sheet: location}},
			source.Reading{Location: source.Location{Sheet: location}, Columns: columns})
		assert.ErrorIs(t, err, source.ErrSheetNotFound)
	})
}

func TestServersWithoutAPlaceRefuseUploads(t *testing.T) {
	e, f := newEnv(t), fileOf(t, 10)
	e.expectFile(f)
	s := sources.NewService(nil, ports.SourceStores{SourceFiles: e.files}, sources.Deps{})
	for _, tt := range []struct {
		by        identity.Actor
		add, send error
	}{
		{owner, source.ErrUploadsNotConfigured, source.ErrUploadsNotConfigured},
		{viewer, source.ErrForbidden, source.ErrFileForbidden}, // who may not learns nothing else
	} {
		_, err := s.NewFile(t.Context(), tt.by, "people.csv", 5, nil)
		assert.ErrorIs(t, err, tt.add)
		_, err = s.StorePart(t.Context(), tt.by, f.ID, source.FileRange{Bytes: 1, Total: 1}, []byte("x"))
		assert.ErrorIs(t, err, tt.send)
	}
	require.NoError(t, s.SweepFiles(t.Context(), now))
}

func TestTheSweepOfPartsKeepsThoseOfAnHour(t *testing.T) {
	s := newEnv(t)
	f := fileOf(t, 10)
	s.expectFile(f)
	s.files.EXPECT().Get(gomock.Any(), acme, source.FileID("gone")).Return(nil, source.ErrFileNotFound)
	s.files.EXPECT().Get(gomock.Any(), acme, source.FileID("unsure")).Return(nil, errOutage)
	s.parts.EXPECT().Sweep(gomock.Any(), now.Add(-time.Hour), gomock.Any()).DoAndReturn(func(ctx context.Context,
		_ time.Time, list func(context.Context, identity.WorkspaceID, source.FileID) ([]string, error)) error {
		parts, err := list(ctx, acme, f.ID)
		none, noneErr := list(ctx, acme, "gone")
		if !slices.Equal(parts, []string{"old"}) || len(none) > 0 || err != nil || noneErr != nil {
			t.Errorf("%v, %v, %v, %v", parts, err, none, noneErr)
		}
		_, err = list(ctx, acme, "unsure")
		return err
	})
	assert.ErrorIs(t, s.SweepFiles(s.ctx, now), errOutage)
}
