package inventory

import "k8s.io/apimachinery/pkg/util/resourceversion"

// Newer reports whether version a of an object is later than version b. Versions that cannot be compared count as newer:
// dropping an event is worse than applying one twice.
func Newer(a, b string) bool {
	if a == b {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || order > 0
}

// Behind reports whether there may be something between what is known up to one version and another version. No version is
// before any.
func Behind(known, version string) bool {
	return version != "" && (known == "" || Newer(version, known))
}

// Newest returns the newest of some versions.
func Newest(versions ...string) (newest string) {
	for _, version := range versions {
		if Behind(newest, version) {
			newest = version
		}
	}
	return newest
}
