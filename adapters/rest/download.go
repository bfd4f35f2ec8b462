package rest

import (
	"context"
	"io"
	"net/http"
)

// download is a file that is read while it is sent, within the timeout of a request.
type download struct {
	*openStream
	prepare func(*openStream) (write func(ctx context.Context, w io.Writer) error, err error) // sets the header
	write   func(ctx context.Context, w io.Writer) error
}

// downloading returns a streaming operation whose response is the file that prepare returns.
func downloading(
	media func(*http.Request) string,
	prepare func(*openStream) (write func(ctx context.Context, w io.Writer) error, err error),
) streaming {
	return streaming{
		media:   media,
		reserve: (*openStream).asDownload,
		open: func(s *openStream) streamBody {
			s.finite = true
			return &download{openStream: s, prepare: prepare}
		},
	}
}

func (s *download) Open() (err error) {
	s.answer["Cache-Control"] = privateNoCache
	s.write, err = s.prepare(s.openStream)
	return err
}

func (s *download) Run(w http.ResponseWriter) error {
	if s.Method == http.MethodHead {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.Context(), s.api.config.RequestTimeout)
	defer cancel()
	return s.write(ctx, w)
}
