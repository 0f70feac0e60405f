"""Mails: sent by SMTP, received by IMAP and POP3."""
