"""Page classification: content, block page, captcha, login wall, soft 404, shell."""
