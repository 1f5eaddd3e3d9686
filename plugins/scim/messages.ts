/** Names that SCIM gives to what is sent (RFC 7643 §10.3, RFC 7644 §8.2). */

/** RFC 7644 §8.1. */
export const SCIM_JSON = 'application/scim+json'
export const USER = 'urn:ietf:params:scim:schemas:core:2.0:User'
export const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group'
export const LIST_RESPONSE = 'urn:ietf:params:scim:api:messages:2.0:ListResponse'
export const PATCH_OP = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'
export const SEARCH_REQUEST = 'urn:ietf:params:scim:api:messages:2.0:SearchRequest'
export const BULK_REQUEST = 'urn:ietf:params:scim:api:messages:2.0:BulkRequest'
export const BULK_RESPONSE = 'urn:ietf:params:scim:api:messages:2.0:BulkResponse'
/** Below the issuer. */
export const PATH = '/scim/v2'
