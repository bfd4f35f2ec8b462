package source

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/naming"
	"github.com/atrium-hq/atrium/domain/revision"
)

// FilePrefix begins an uploaded file's identifier, and the identifiers of its parts.
const FilePrefix = "file"

// Limits of uploaded files.
const (
	MaxFiles     = 500     // in one workspace, incomplete ones included
	MaxPartBytes = 8 << 20 // of one request
	MinPartBytes = 4 << 20 // of all parts except the last one

	// UploadKept is how long an upload waits for its next part before it is removed.
	UploadKept = 24 * time.Hour
)

// FileID identifies an uploaded file. The empty one identifies none.
type FileID string

// Errors about uploaded files.
var (
	ErrFileNotFound = &fault.Error{
		Kind:   fault.NotFound,
		Code:   "file_not_found",
		Detail: "There is no such file.",
	}
	ErrFileForbidden = &fault.Error{
		Kind:   fault.Forbidden,
		Code:   "file_forbidden",
		Detail: "Only the user who created the file, or an admin of the workspace, can change it.",
	}
	ErrFileInUse = &fault.Error{
		Kind:   fault.Conflict,
		Code:   "file_in_use",
		Detail: "Data sources read this file. Detach them first.",
	}
	ErrFileLimit = &fault.Error{
		Kind:   fault.Conflict,
		Code:   "file_limit_reached",
		Detail: "A workspace can have at most 500 files.",
	}
	// ErrFileOffset is for a part that does not begin where the received ones end.
	ErrFileOffset = &fault.Error{
		Kind:   fault.Conflict,
		Code:   "offset_mismatch",
		Detail: "The part does not begin where the received parts end.",
	}
	ErrFileRange = &fault.Error{
		Kind: fault.Malformed,
		Code: "invalid_range",
		Detail: "Content-Range must name the bytes of the body, as bytes first-last/total. A part has 4 MiB to " +
			"8 MiB; the last one may have fewer.",
	}
	ErrUploadsNotConfigured = &fault.Error{
		Kind:   fault.Conflict,
		Code:   "uploads_not_configured",
		Detail: "This server has no place for uploaded files, which need a database in SQLite.",
	}
)

// File is a file that was uploaded to a workspace, whose rows sources can read.
type File struct {
	event.Log
	ID        FileID
	Org       identity.OrgID
	Workspace identity.WorkspaceID
	Name      string // 1 to 120 characters
	Content   Upload // what sources read; zero until it is complete for the first time
	Pending   Upload // the upload of the first or the next content; zero if none is in progress
	PendingAt time.Time

	// Key encrypts the content. It is sealed for KeyPlace.
	Key []byte

	// Dropped are the parts that the last Receive has taken out.
	Dropped []FilePart

	// Removed reports that the file was removed: a store deletes it.
	Removed bool

	Owner     identity.UserID
	Revision  int64 // counts complete contents and changes of an upload
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Upload is a file's content in parts, as far as it was received.
type Upload struct {
	Size  int64 // in bytes, when it is complete; 0: there is none
	Parts []FilePart
}

// FilePart is a stored part.
type FilePart struct {
	ID    string
	Bytes int64
}

// FileRange is a part's place in the content: the number of its first byte, how many bytes it has, and how many
// bytes the content has.
type FileRange struct{ First, Bytes, Total int64 }

// Received returns how many bytes of u are stored.
func (u Upload) Received() (sum int64) {
	for _, p := range u.Parts {
		sum += p.Bytes
	}
	return sum
}

// UploadedFile returns the file that a location's URL names. ok is false for other locations.
func UploadedFile(url string) (file FileID, ok bool) {
	name, ok := strings.CutPrefix(url, FileScheme)
	if !ok || !id.Valid(FilePrefix, name) {
		return "", false
	}
	return FileID(name), true
}

// URL returns the URL in the location of sources that read f.
func (f *File) URL() string { return f.ID.URL() }

// URL returns the URL in the location of sources that read the file.
func (f FileID) URL() string { return FileScheme + string(f) }

// NewPartID returns a new part's identifier.
func NewPartID() string { return id.New(FilePrefix) }

// NewFile creates a file that waits for a content of size bytes. Requires the member role.
func NewFile(by identity.Actor, name string, size int64) (*File, error) {
	if err := MayCreate(by); err != nil {
		return nil, err
	}
	name = naming.Normal(name)
	var errs fault.Fields
	if utf8.RuneCountInString(strings.TrimSpace(name)) == 0 {
		errs.Add("/name", "required", "Must have a character that is no space.")
	}
	checkName(&errs, name)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	if size > MaxSheetBytes {
		return nil, ErrFileTooLarge
	}
	if size < 1 {
		return nil, ErrFileRange
	}
	return &File{
		ID: FileID(id.New(FilePrefix)), Org: by.Org, Workspace: by.Workspace, Name: name,
		Pending: Upload{Size: size}, PendingAt: by.At,
		Owner: by.User, Revision: 1, CreatedAt: by.At, UpdatedAt: by.At,
	}, nil
}

// KeyPlace returns the associated data of the sealed Key, which opens for no other file.
func (f *File) KeyPlace() []byte {
	return []byte("file key\x00" + string(f.Org) + "\x00" + string(f.Workspace) + "\x00" + string(f.ID))
}

// Access returns what by may do with f: everyone in the workspace sees it, members use it, and the user who created it
// and the workspace's admins manage it. No other code decides this.
func (f *File) Access(by identity.Actor) Access {
	return min((&Source{Workspace: f.Workspace, Owner: f.Owner}).Access(by), Manage)
}

// Allow returns nil if by has at least need, and ErrFileNotFound if by may not see f.
func (f *File) Allow(by identity.Actor, need Access) error {
	switch access := f.Access(by); {
	case access == None:
		return ErrFileNotFound
	case access < need:
		return ErrFileForbidden
	default:
		return nil
	}
}

// Bytes returns how many bytes f uses or will use: what quotas count.
func (f *File) Bytes() int64 { return f.Content.Size + f.Pending.Size }

// Received returns the size of the content to come and how many of its bytes are stored; of the complete content if no
// upload is in progress.
func (f *File) Received() (received, size int64) {
	if f.Pending.Size == 0 {
		return f.Content.Size, f.Content.Size
	}
	return f.Pending.Received(), f.Pending.Size
}

// check returns an error unless a part can have the place r.
func (r FileRange) check() error {
	switch {
	case r.Total > MaxSheetBytes:
		return ErrFileTooLarge
	case r.First < 0, r.Bytes < 1, r.Bytes > MaxPartBytes, r.Total-r.Bytes < r.First,
		r.First+r.Bytes < r.Total && r.Bytes < MinPartBytes:
		return ErrFileRange
	default:
		return nil
	}
}

// Receive adds a stored part to the upload that is in progress. With the last part the content is complete, and
// replaces the previous one. A part of byte 0 begins a new upload if it is the whole content, if none is in progress,
// or if its total is another. ErrFileOffset if the part does not begin where the received ones end.
func (f *File) Receive(by identity.Actor, r FileRange, part string) error {
	if err := f.Allow(by, Manage); err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	f.Dropped = nil
	if r.First == 0 && (r.Bytes == r.Total || r.Total != f.Pending.Size) {
		f.Dropped, f.Pending = f.Pending.Parts, Upload{Size: r.Total}
	}
	if received, _ := f.Received(); r.Total != f.Pending.Size || r.First != received {
		return ErrFileOffset.Because("The server has received " + strconv.FormatInt(received, 10) +
			" bytes: send the part that begins there. A content with another size begins at 0.")
	}
	f.Pending.Parts = append(f.Pending.Parts, FilePart{ID: part, Bytes: r.Bytes})
	f.PendingAt, f.UpdatedAt = by.At, by.At
	f.Revision++
	if r.First+r.Bytes < r.Total {
		return nil
	}
	f.Record(by, "file.uploaded", string(f.ID), map[string]any{"bytes": r.Total, "replaced": f.Content.Size > 0})
	f.Dropped = slices.Concat(f.Dropped, f.Content.Parts)
	f.Content, f.Pending, f.PendingAt = f.Pending, Upload{}, time.Time{}
	return nil
}

// Remove removes f. ErrFileInUse if sources read it, with those that by may see.
func (f *File) Remove(by identity.Actor, match revision.Match, readers []Summary) error {
	if err := f.Allow(by, Manage); err != nil {
		return err
	}
	if err := match.Check(f.Revision); err != nil {
		return err
	}
	if len(readers) > 0 {
		uses := make([]fault.Use, 0, len(readers))
		for i := range readers {
			if readers[i].Access(by) >= See {
				uses = append(uses, fault.Use{ID: string(readers[i].ID), Name: readers[i].Name})
			}
		}
		return ErrFileInUse.UsedByThese(uses, len(readers), nil)
	}
	f.Removed = true
	f.Revision++
	f.Record(by, "file.deleted", string(f.ID), map[string]any{"name": f.Name})
	return nil
}
