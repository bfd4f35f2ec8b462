package server

import (
	"context"
	"io"
	"net/http"
)

// Writing writes a file to w.
type Writing = func(ctx context.Context, w io.Writer) error

// download is a file that is read while it is sent, within a request's timeout.
type download struct {
	*Stream
	prepare func(*Stream) (Writing, error) // sets the header
	write   Writing
}

// Downloading returns a streaming operation whose response is the file that prepare returns.
func Downloading(
	media func(*http.Request) string,
	prepare func(*Stream) (Writing, error),
) Streaming {
	return Streaming{
		Media:   media,
		Finite:  true,
		Reserve: (*Stream).AsDownload,
		Open:    func(s *Stream) StreamBody { return &download{Stream: s, prepare: prepare} },
	}
}

// Open implements StreamBody.
func (s *download) Open() (err error) {
	s.ReplyHeader.Set("Cache-Control", "private, no-cache")
	s.write, err = s.prepare(s.Stream)
	return err
}

// Run implements StreamBody.
func (s *download) Run() error {
	if s.Method == http.MethodHead {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.Context(), s.API.Config.RequestTimeout)
	defer cancel()
	return s.write(ctx, s.writer)
}
