package sequentialjob

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"example.com/podsequence/apis/batch/v1alpha1"
)

const (
	// maxBase leaves room for "-63" in the 63 characters that the value of the label job-name may have.
	maxBase    = 60
	hashLength = 16
)

// baseName is what the names of an object's Jobs begin with: its own name if that is shorter than maxBase, and else as
// much of it as goes before a hash of the whole.
//
// No two objects of a namespace share a base. Names that are cut have bases of exactly maxBase characters, and names that
// are not cut have shorter ones; among those that are cut, 64 bits of SHA-256 tell them apart.
func baseName(name string) string {
	if len(name) < maxBase {
		return name
	}
	hash := sha256.Sum256([]byte(name))
	head := []byte(name[:maxBase-hashLength-1])
	// A part of a DNS name cannot begin with the '-' that comes next.
	if last := len(head) - 1; head[last] == '.' {
		head[last] = '-'
	}
	return string(head) + "-" + hex.EncodeToString(hash[:hashLength/2])
}

// jobName is the name of the Job of a step.
func jobName(name string, index int32) string {
	return baseName(name) + "-" + strconv.Itoa(int(index))
}

// cutJobName takes the name of a step's Job apart. ok is false if it cannot be one.
func cutJobName(job string) (base string, index int32, ok bool) {
	dash := strings.LastIndexByte(job, '-')
	if dash <= 0 || dash > maxBase {
		return "", 0, false
	}
	number, err := strconv.Atoi(job[dash+1:])
	if err != nil || number < 0 || number >= v1alpha1.MaxSteps || strconv.Itoa(number) != job[dash+1:] {
		return "", 0, false
	}
	return job[:dash], int32(number), true
}
