package source

import (
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
)

// Errors of reading a sheet.
var (
	ErrURLNotAllowed = &fault.Error{
		Kind: fault.Invalid,
		Code: "url_not_allowed",
		Detail: "The URL must use https and a public address, on port 443 or a port of 1024 or above. Where the " +
			"server offers files, file: and a file name also work.",
	}
	ErrSheetNotShared = &fault.Error{
		Kind: fault.Forbidden,
		Code: "sheet_not_shared",
		Detail: "Atrium cannot read this sheet because its host requires a sign-in. Share it with everyone who has " +
			"the link, or use a download link.",
	}
	ErrSheetConsentEnded = &fault.Error{
		Kind: fault.Forbidden,
		Code: "consent_ended",
		Detail: "Google no longer accepts the consent with which this workspace reads the sheet. Connect with Google " +
			"again: verify the connection with a new consent.",
	}
	ErrSheetNotFound = &fault.Error{
		Kind:   fault.NotFound,
		Code:   "sheet_not_found",
		Detail: "There is no sheet at this location.",
	}
	ErrHeaderUncertain = &fault.Error{
		Kind: fault.Invalid,
		Code: "header_uncertain",
		Detail: "It is uncertain which row is the header. Give header_row: one of the rows in errors, or 0 if the " +
			"sheet has no header.",
	}
	ErrNoHeaderRow = fault.InField("/header_row", "not_allowed_value",
		"Must not be set for a table, whose columns have names. Only sheets have header rows.")
	ErrTabNotFound  = &fault.Error{Kind: fault.NotFound, Code: "tab_not_found", Detail: "The sheet has no such tab."}
	ErrFileTooLarge = &fault.Error{
		Kind:   fault.TooLarge,
		Code:   "file_too_large",
		Detail: "The file, its unpacked content or one of its lines is too large.",
	}
	// ErrOutOfMemory is also a table's error: a read of rows needs the same memory however many there are.
	ErrOutOfMemory = &fault.Error{
		Kind: fault.TooLarge,
		Code: string(connection.OutOfMemory),
		Detail: "Reading this needs more memory than one read has. Map fewer columns, shorten the longest texts, or " +
			"save the file as CSV.",
	}
	ErrUnsupportedFormat = &fault.Error{
		Kind:   fault.UnsupportedMedia,
		Code:   "unsupported_format",
		Detail: "The file format is not supported. Atrium reads .xlsx, .ods, .csv and .tsv files without a password.",
	}
	ErrSheetRateLimited = &fault.Error{
		Kind:   fault.RateLimited,
		Code:   "rate_limited",
		Detail: "The sheet's host limits requests. Wait for the number of seconds in Retry-After.",
	}
	ErrSheetFailed = &fault.Error{
		Kind:   fault.Upstream,
		Code:   "upstream_failed",
		Detail: "The sheet's host returned an unexpected response. Try again soon.",
	}
	ErrSheetTimeout = &fault.Error{
		Kind:   fault.UpstreamTimeout,
		Code:   "upstream_timeout",
		Detail: "The sheet could not be read in time. Try again when its host is less busy.",
	}
)
