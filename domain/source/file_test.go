package source_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

const mebibyte = 1 << 20

// stranger owns another workspace.
var stranger = func() identity.Actor {
	by := actor("ann", identity.Owner)
	by.Workspace = "other"
	return by
}()

func TestWhichLocationsNameAnUploadedFile(t *testing.T) {
	for url, want := range map[string]source.FileID{
		"file:file_01jb4rqnx1e0g8w5t2m7k4y6zc":   "file_01jb4rqnx1e0g8w5t2m7k4y6zc",
		"file:file_01JB4RQNX1E0G8W5T2M7K4Y6ZC":   "", // another spelling is another name
		"file:file_01jb4rqnx1e0g8w5t2m7k4y6zc#a": "",
		"file: file_01jb4rqnx1e0g8w5t2m7k4y6zc":  "",
		"FILE:file_01jb4rqnx1e0g8w5t2m7k4y6zc":   "",
		"file:src_01jb4rqnx1e0g8w5t2m7k4y6zc":    "",
		"file:contacts.csv":                      "",
		"https://example.com/file_01jb4rqnx1e0g": "",
	} {
		if got, ok := source.UploadedFile(url); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %t", url, got, ok)
		}
	}
}

func TestWhatANewFileMustHave(t *testing.T) {
	for _, tt := range []struct {
		name, fileName string
		by             identity.Actor
		size           int64
		want           error
	}{
		{"a member creates a file", "contacts.csv", owner, 1, nil},
		{"the largest file", strings.Repeat("é", 120), owner, 64 * mebibyte, nil},
		{"a viewer creates none", "contacts.csv", viewer, 1, source.ErrForbidden},
		{"a name of spaces", "  ", owner, 1, fault.ErrInvalid},
		{"a name of 121 characters", strings.Repeat("é", 121), owner, 1, fault.ErrInvalid},
		{"a name with a hidden character", "con\u200btacts.csv", owner, 1, fault.ErrInvalid},
		{"nothing", "contacts.csv", owner, 0, source.ErrFileRange},
		{"a byte too many", "contacts.csv", owner, 64*mebibyte + 1, source.ErrFileTooLarge},
	} {
		f, err := source.NewFile(tt.by, tt.fileName, tt.size)
		if !errors.Is(err, tt.want) || (err == nil) != (f != nil) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// uploading returns a file of 10 MiB of which 8 MiB were received.
func uploading(t *testing.T) *source.File {
	t.Helper()
	f, err := source.NewFile(owner, "contacts.csv", 10*mebibyte)
	require.NoError(t, err)
	require.NoError(t, f.Receive(owner, source.FileRange{Bytes: 8 * mebibyte, Total: 10 * mebibyte}, "first"))
	return f
}

// uploaded is a file whose content of 10 MiB is complete.
func uploaded(t *testing.T) *source.File {
	t.Helper()
	f := uploading(t)
	require.NoError(t, f.Receive(owner,
		source.FileRange{First: 8 * mebibyte, Bytes: 2 * mebibyte, Total: 10 * mebibyte}, "second"))
	return f
}

func TestPartsOfAFile(t *testing.T) {
	type place = source.FileRange
	for _, tt := range []struct {
		name     string
		file     func(*testing.T) *source.File
		by       identity.Actor
		place    place
		want     error
		received int64 // of the upload in progress, or the content
		size     int64
	}{
		{"the last part completes a file", uploading, owner, place{8 * mebibyte, 2 * mebibyte, 10 * mebibyte}, nil,
			10 * mebibyte, 10 * mebibyte},
		{"an admin continues it", uploading, admin, place{8 * mebibyte, 2 * mebibyte, 10 * mebibyte}, nil,
			10 * mebibyte, 10 * mebibyte},
		{"another member does not", uploading, peer, place{8 * mebibyte, 2 * mebibyte, 10 * mebibyte},
			source.ErrFileForbidden, 8 * mebibyte, 10 * mebibyte},
		{"another workspace learns nothing of it", uploading, stranger,
			place{8 * mebibyte, 2 * mebibyte, 10 * mebibyte}, source.ErrFileNotFound, 8 * mebibyte, 10 * mebibyte},
		{"a part that was received is not taken again", uploading, owner, place{0, 8 * mebibyte, 10 * mebibyte},
			source.ErrFileOffset, 8 * mebibyte, 10 * mebibyte},
		{"a part after a gap", uploading, owner, place{9 * mebibyte, mebibyte, 10 * mebibyte}, source.ErrFileOffset,
			8 * mebibyte, 10 * mebibyte},
		{"another size in the middle", uploading, owner, place{8 * mebibyte, 2*mebibyte - 1, 10*mebibyte - 1},
			source.ErrFileOffset, 8 * mebibyte, 10 * mebibyte},
		{"another size from the beginning starts over", uploading, owner, place{0, 8 * mebibyte, 12 * mebibyte}, nil,
			8 * mebibyte, 12 * mebibyte},
		{"a whole content replaces an upload", uploading, owner, place{0, 1, 1}, nil, 1, 1},
		{"a small part in the middle", uploading, owner, place{8 * mebibyte, 1, 10 * mebibyte}, source.ErrFileRange,
			8 * mebibyte, 10 * mebibyte},
		{"more than the total", uploading, owner, place{8 * mebibyte, 3 * mebibyte, 10 * mebibyte},
			source.ErrFileRange, 8 * mebibyte, 10 * mebibyte},
		{"a part above the limit", uploading, owner, place{0, 9 * mebibyte, 9 * mebibyte}, source.ErrFileRange,
			8 * mebibyte, 10 * mebibyte},
		{"nothing", uploading, owner, place{8 * mebibyte, 0, 10 * mebibyte}, source.ErrFileRange, 8 * mebibyte,
			10 * mebibyte},
		{"a negative place", uploading, owner, place{-1, 5 * mebibyte, 10 * mebibyte}, source.ErrFileRange,
			8 * mebibyte, 10 * mebibyte},
		{"a total above the limit", uploading, owner, place{0, 8 * mebibyte, 64*mebibyte + 1},
			source.ErrFileTooLarge, 8 * mebibyte, 10 * mebibyte},
		{"a complete file gets its next content in parts", uploaded, owner, place{0, 8 * mebibyte, 12 * mebibyte},
			nil, 8 * mebibyte, 12 * mebibyte},
		{"also one of the same size", uploaded, owner, place{0, 8 * mebibyte, 10 * mebibyte}, nil, 8 * mebibyte,
			10 * mebibyte},
		{"the last part is not taken again", uploaded, owner, place{8 * mebibyte, 2 * mebibyte, 10 * mebibyte},
			source.ErrFileOffset, 10 * mebibyte, 10 * mebibyte},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := tt.file(t)
			err := f.Receive(tt.by, tt.place, "next")
			if !errors.Is(err, tt.want) {
				t.Fatalf("%v, want %v", err, tt.want)
			}
			received, size := f.Received()
			assert.Equal(t, "received", received, tt.received)
			assert.Equal(t, "size", size, tt.size)
		})
	}
}

func TestTheContentStaysUntilTheNextOneIsComplete(t *testing.T) {
	f := uploaded(t)
	previous := f.Content
	next := source.FileRange{Bytes: 8 * mebibyte, Total: 9 * mebibyte}
	require.NoError(t, f.Receive(owner, next, "third"))
	assert.Equal(t, "content", f.Content.Size, previous.Size)
	assert.Equal(t, "bytes", f.Bytes(), int64(19*mebibyte))
	next.First, next.Bytes = 8*mebibyte, mebibyte
	require.NoError(t, f.Receive(owner, next, "fourth"))
	assert.Equal(t, "bytes", f.Bytes(), int64(9*mebibyte))
	var parts []string
	for _, p := range f.Content.Parts {
		parts = append(parts, p.ID)
	}
	if !slices.Equal(parts, []string{"third", "fourth"}) || f.Pending.Size != 0 || !f.PendingAt.IsZero() {
		t.Errorf("%v, pending %+v since %v", parts, f.Pending, f.PendingAt)
	}
	assert.EqualSlice(t, "dropped", f.Dropped, previous.Parts)
	var replaced []any
	for _, e := range f.Recorded() {
		replaced = append(replaced, e.Data["replaced"])
	}
	if !slices.Equal(replaced, []any{false, true}) {
		t.Errorf("events: %v", replaced)
	}
}

func TestWhoCanRemoveAFile(t *testing.T) {
	reader := source.Summary{ID: "src_1", Workspace: owner.Workspace, Name: "Contacts"}
	for _, tt := range []struct {
		name    string
		by      identity.Actor
		readers []source.Summary
		want    error
	}{
		{"the user who created it", owner, nil, nil},
		{"an admin", admin, nil, nil},
		{"another member", peer, nil, source.ErrFileForbidden},
		{"a viewer", viewer, nil, source.ErrFileForbidden},
		{"another workspace", stranger, nil, source.ErrFileNotFound},
		{"while a source reads it", owner, []source.Summary{reader}, source.ErrFileInUse},
		{"no one learns from its readers that it exists", stranger, []source.Summary{reader}, source.ErrFileNotFound},
	} {
		f := uploaded(t)
		err := f.Remove(tt.by, nil, tt.readers)
		if !errors.Is(err, tt.want) || f.Removed != (tt.want == nil) {
			t.Errorf("%s: %v, removed: %t", tt.name, err, f.Removed)
		}
	}
	err := uploaded(t).Remove(owner, nil, []source.Summary{reader})
	if failure, ok := errors.AsType[*fault.Error](err); !ok || failure.Uses != 1 ||
		!slices.Equal(failure.UsedBy, []fault.Use{{ID: "src_1", Name: "Contacts"}}) {
		t.Errorf("%+v", err)
	}
}

func TestAFileIsRemovedOnlyInARevisionThatTheCallerHasRead(t *testing.T) {
	f := uploaded(t)
	assert.ErrorIs(t, f.Remove(owner, revision.Match{f.Revision - 1}, nil), revision.ErrMismatch)
	assert.ErrorIs(t, f.Remove(viewer, revision.Match{f.Revision - 1}, nil), source.ErrFileForbidden)
	require.NoError(t, f.Remove(owner, revision.Match{f.Revision}, nil))
}
