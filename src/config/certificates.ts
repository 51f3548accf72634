import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';

/** What is wrong with the text of a client's certificate, in words; null if nothing is. */
export function certificateFault(text: string): string | null {
  if (!certificateBegin.test(text)) return `holds no certificate ${wanted('CERTIFICATE', text)}`;
  const refusal = refusalOf({ cert: text });
  return refusal && `its certificate cannot be used: ${refusal}`;
}

/** The same of the certificates of authorities, of which TLS would pass over in silence what it cannot read. */
export function authorityFault(text: string): string | null {
  if (!certificateBegin.test(text)) return `holds no certificate ${wanted('CERTIFICATE', text)}`;
  return certificatesIn(text).length === 0 ? 'its certificate cannot be read' : null;
}

/** What is wrong with the text of a key, in words; null if nothing is. */
export function keyFault(text: string): string | null {
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) {
    return `holds no private key ${wanted('PRIVATE KEY', text)}`;
  }
  if (/-----BEGIN ENCRYPTED|^Proc-Type: .*ENCRYPTED/m.test(text)) {
    return 'is encrypted, and nobody is there to type its passphrase: openssl pkey -in FILE -out NEWFILE takes it off';
  }
  const refusal = refusalOf({ key: text });
  return refusal && `its key cannot be used: ${refusal}`;
}

/** What is wrong with the two together, each of which is well by itself. */
export function pairFault(cert: string, key: string): string | null {
  return refusalOf({ cert, key }) && 'is not the key of the certificate in mqtt.cert_file';
}

/**
 * Who signed the certificates in the text, where not even that one's own is among them: then no chain ends there, and
 * nothing is trusted because of them. Null where all is well, or nothing can be read.
 */
export function missingAuthority(text: string): string | null {
  const certificates = certificatesIn(text);
  const missing = certificates.filter(
    ({ issuer }) => !certificates.some(({ subject }) => subject === issuer),
  );
  const isRooted = certificates.some(({ subject, issuer }) => subject === issuer);
  return isRooted ? null : (missing[0]?.issuer.replaceAll('\n', ', ') ?? null);
}

const certificateBegin = /-----BEGIN (X509 |TRUSTED )?CERTIFICATE-----/;

/** What a PEM file has in its first line, and what this one has instead. */
function wanted(label: string, text: string): string {
  const [, other] = /-----BEGIN ([A-Z0-9 ]+)-----/.exec(text) ?? [];
  return `(it must be PEM, text with the line -----BEGIN ${label}-----${other === undefined ? '' : `, not ${other}`})`;
}

/** OpenSSL's reason not to take them; null if it does. */
function refusalOf(parts: { cert?: string; key?: string }): string | null {
  try {
    createSecureContext(parts);
    return null;
  } catch (error) {
    const { reason, message } = error as Error & { reason?: unknown };
    return typeof reason === 'string' ? reason : message;
  }
}

/** Those that can be read. */
function certificatesIn(text: string): X509Certificate[] {
  const blocks = text.match(/-----BEGIN .*?-----END [^\n]*/gs) ?? [];
  return blocks.flatMap((block) => {
    try {
      return [new X509Certificate(block)];
    } catch {
      return [];
    }
  });
}
