package controlplane

import (
	"time"
)

// ourNamespace holds the service accounts of our programs, which are named as the programs are.
const ourNamespace = "podsequence-system"

// tokenLifetime is longer than a sandbox is kept: its tokens are not renewed.
const tokenLifetime = 365 * 24 * time.Hour
