package source

import "github.com/atrium-hq/atrium/domain/fault"

// What can go wrong with reading a sheet.
var (
	ErrURLNotAllowed     = &fault.Error{Kind: fault.Invalid, Code: "url_not_allowed", Detail: "Atrium reads sheets by https from public addresses, on port 443 or one from 1024 on, and, where files are offered, file: followed by a name."}
	ErrSheetNotShared    = &fault.Error{Kind: fault.Forbidden, Code: "sheet_not_shared", Detail: "Atrium may not read this sheet: its host asks to sign in. Share it with everyone who has the link, or give the link of a download."}
	ErrSheetNotFound     = &fault.Error{Kind: fault.NotFound, Code: "sheet_not_found", Detail: "There is no sheet at this location."}
	ErrTabNotFound       = &fault.Error{Kind: fault.NotFound, Code: "tab_not_found", Detail: "The sheet has no such tab."}
	ErrFileTooLarge      = &fault.Error{Kind: fault.TooLarge, Code: "file_too_large", Detail: "The file, what is packed into it, or one of its lines is larger than Atrium reads."}
	ErrUnsupportedFormat = &fault.Error{Kind: fault.UnsupportedMedia, Code: "unsupported_format", Detail: "This is none of the formats that Atrium reads: .xlsx, .ods, .csv and .tsv, without a password."}
	ErrSheetRateLimited  = &fault.Error{Kind: fault.RateLimited, Code: "rate_limited", Detail: "The sheet's host takes no more requests for now. Wait as long as Retry-After says."}
	ErrSheetFailed       = &fault.Error{Kind: fault.Upstream, Code: "upstream_failed", Detail: "The sheet's host did not answer as it should. Try again soon."}
	ErrSheetTimeout      = &fault.Error{Kind: fault.UpstreamTimeout, Code: "upstream_timeout", Detail: "The sheet could not be read in time. Try again when its host is less busy."}
)
